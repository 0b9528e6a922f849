/* SPDX-License-Identifier: 0BSD
 * Plugin of qemu: counts the instructions that a guest executes between two markers (main.c), and
 * (memory=on, which is slow) what it loads and stores. Exact: the same program always gives the
 * same numbers.
 *
 *   gcc -O2 -shared -fPIC -o icount.so icount.c
 *   qemu-system-arm ... -plugin file=./icount.so,memory=on -d plugin -D counts.txt
 *
 * Distributions have no qemu-plugin.h: what is used of it is declared here (version 1). */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_plugin_tb Block;
typedef struct qemu_plugin_insn Instruction;
typedef struct {
    const char *target_name; /* more follows, of no use here */
} Machine;

typedef void translated(qemu_plugin_id_t id, Block *block);
typedef void executed(unsigned cpu, void *data);
typedef void accessed(unsigned cpu, uint32_t info, uint64_t address,
                      void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           translated *call);
void qemu_plugin_register_vcpu_insn_exec_inline(Instruction *instruction,
                                                int operation, void *at,
                                                uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_cb(Instruction *instruction,
                                            executed *call, int flags,
                                            void *data);
void qemu_plugin_register_vcpu_mem_cb(Instruction *instruction, accessed *call,
                                      int flags, int access, void *data);
bool qemu_plugin_mem_is_store(uint32_t info);
size_t qemu_plugin_tb_n_insns(const Block *block);
Instruction *qemu_plugin_tb_get_insn(const Block *block, size_t index);
const void *qemu_plugin_insn_data(const Instruction *instruction);
void qemu_plugin_outs(const char *text);

extern int qemu_plugin_version;
int qemu_plugin_version = 1;
int qemu_plugin_install(qemu_plugin_id_t id, const Machine *machine, int count,
                        char **arguments);

enum { ADD = 0, NO_REGISTERS = 0, READ_AND_WRITE = 3 };

typedef enum Marker { NONE, BEGIN, END } Marker;

typedef struct Counts {
    uint64_t instructions, loads, stores;
} Counts;

/* qemu calls without a word of ours: what it counts has to be global. One processor runs. */
static Counts now, begun;
static bool is_riscv, with_memory;

static void on_begin(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    begun = now;
}

static void on_end(unsigned cpu, void *data)
{
    char line[160];
    (void)cpu;
    (void)data;
    snprintf(line, sizeof line,
             "instructions %" PRIu64 " loads %" PRIu64 " stores %" PRIu64 "\n",
             now.instructions - begun.instructions, now.loads - begun.loads,
             now.stores - begun.stores);
    qemu_plugin_outs(line);
}

static void on_access(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)address;
    (void)data;
    if (qemu_plugin_mem_is_store(info))
        now.stores++;
    else
        now.loads++;
}

/* slti x0, x0, 0x35 or 0x36 */
static Marker riscv_marker(const uint8_t *code)
{
    if (code[0] != 0x13 || code[1] != 0x20 || code[3] != 0x03)
        return NONE;
    if (code[2] == 0x50)
        return BEGIN;
    return code[2] == 0x60 ? END : NONE;
}

/* mov r10, r10 or mov r11, r11. An instruction's size is no help: qemu 7.2 gives two bytes too many
 * before one that lies across a page. No long instruction begins with 0x46. */
static Marker thumb_marker(const uint8_t *code)
{
    if (code[1] != 0x46)
        return NONE;
    if (code[0] == 0xd2)
        return BEGIN;
    return code[0] == 0xdb ? END : NONE;
}

static Marker marker_of(const Instruction *instruction)
{
    uint8_t code[4] = { 0 };
    memcpy(code, qemu_plugin_insn_data(instruction), 2);
    if (!is_riscv)
        return thumb_marker(code);
    if ((code[0] & 3) != 3)
        return NONE; /* compressed */
    memcpy(code, qemu_plugin_insn_data(instruction), 4);
    return riscv_marker(code);
}

static void on_translation(qemu_plugin_id_t id, Block *block)
{
    const size_t count = qemu_plugin_tb_n_insns(block);
    (void)id;
    for (size_t i = 0; i < count; i++) {
        Instruction *instruction = qemu_plugin_tb_get_insn(block, i);
        const Marker marker = marker_of(instruction);
        if (marker != NONE) {
            qemu_plugin_register_vcpu_insn_exec_cb(
                instruction, marker == BEGIN ? on_begin : on_end, NO_REGISTERS,
                NULL);
            continue;
        }
        qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD,
                                                   &now.instructions, 1);
        if (with_memory)
            qemu_plugin_register_vcpu_mem_cb(
                instruction, on_access, NO_REGISTERS, READ_AND_WRITE, NULL);
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const Machine *machine, int count,
                        char **arguments)
{
    for (int i = 0; i < count; i++)
        with_memory |= !strcmp(arguments[i], "memory=on");
    is_riscv = !strncmp(machine->target_name, "riscv", 5);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
