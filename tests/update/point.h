/* SPDX-License-Identifier: Apache-2.0
 * Where writer and run may come between each other (runtime/inlay_update.h). */
#ifndef INLAY_TESTS_UPDATE_POINT_H
#define INLAY_TESTS_UPDATE_POINT_H
void test_point(void);
#define INLAY_UPDATE_POINT() test_point()
#endif
