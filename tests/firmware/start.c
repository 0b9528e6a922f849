/* SPDX-License-Identifier: 0BSD
 * Start-up without any library, the part that all cores share: .data, .bss, main(). A fault ends
 * the run with status 97, unless the program has a fault() of its own. */
#include "board.h"
#include "semihosting.h"

void start(void)
{
    const uint32_t *from = link_data_load;
    uint32_t *p;
    for (p = link_data; p < link_data_end; p++)
        *p = *from++;
    for (p = link_bss; p < link_bss_end; p++)
        *p = 0;
    semi_exit((uint32_t)main());
}

__attribute__((weak, aligned(4))) void fault(void)
{
    semi_text("fault\n");
    semi_exit(97);
}
