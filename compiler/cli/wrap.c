/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/wrap.h"

#include <string.h>

void put_wrapped(Text *text, const char *words, int left, int right)
{
    int column = left;
    while (*words) {
        const int length = (int)strcspn(words, " ");
        if (column > left && column + 1 + length > right) {
            text_print(text, "\n%*s", left, "");
            column = left;
        }
        text_put(text, column > left ? " " : "");
        text_add(text, words, (size_t)length);
        column += length + (column > left);
        words += length;
        words += strspn(words, " ");
    }
    text_put(text, "\n");
}
