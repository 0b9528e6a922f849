/* SPDX-License-Identifier: 0BSD
 * What start-up code gives to a program, on every core. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

/* Made by the link script. */
extern uint32_t link_data_load[], link_data[], link_data_end[], link_bss[],
    link_bss_end[], link_stack[], link_stack_top[];

int main(void);

/* start_arm.c, start_riscv.c: from here on a store into code or constants faults. Returns 0 if
 * the core can't do that. */
int protect_constants(void);

/* start.c: fills RAM, runs main(), ends with its code. */
void start(void);

/* start.c: a fault ends the program. */
void fault(void);

#endif
