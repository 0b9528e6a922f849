/* SPDX-License-Identifier: 0BSD
 * Flash for inlay_slots.h that is a file: Linux and other systems of POSIX. The file has its whole
 * size from the beginning on, so that no write of a download fails for want of room. */
#ifndef FLASH_FILE_H
#define FLASH_FILE_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inlay_slots.h"

#ifndef FLASH_FILE_SECTOR
#define FLASH_FILE_SECTOR 4096u /* bytes that are erased at a time */
#endif

typedef struct flash_file {
    inlay_flash flash;
    int file;
    uint32_t size;      /* bytes of it */
    const void *memory; /* its first byte, read only */
} flash_file;

static int flash_file_read(void *context, uint32_t at, void *to, uint32_t n)
{
    const flash_file *f = (const flash_file *)context;
    unsigned char *bytes = (unsigned char *)to;
    while (n) {
        const ssize_t k = pread(f->file, bytes, n, (off_t)at);
        if (k <= 0)
            return -1;
        bytes += k;
        at += (uint32_t)k;
        n -= (uint32_t)k;
    }
    return 0;
}

static int flash_file_prog(void *context, uint32_t at, const void *from, uint32_t n)
{
    const flash_file *f = (const flash_file *)context;
    const unsigned char *bytes = (const unsigned char *)from;
    while (n) {
        const ssize_t k = pwrite(f->file, bytes, n, (off_t)at);
        if (k <= 0)
            return -1;
        bytes += k;
        at += (uint32_t)k;
        n -= (uint32_t)k;
    }
    return 0;
}

static int flash_file_erase(void *context, uint32_t at)
{
    unsigned char sector[FLASH_FILE_SECTOR];
    memset(sector, 0xff, sizeof sector);
    return flash_file_prog(context, at, sector, sizeof sector);
}

static int flash_file_sync(void *context)
{
    return fsync(((const flash_file *)context)->file);
}

/* The file at `path`, made where there is none, with at least `size` bytes in whole sectors. 0, or
 * -1 and errno. */
static int flash_file_open(flash_file *f, const char *path, uint32_t size)
{
    uint32_t at;
    struct stat about;
    memset(f, 0, sizeof *f);
    f->size = (size + FLASH_FILE_SECTOR - 1) / FLASH_FILE_SECTOR * FLASH_FILE_SECTOR;
    f->file = open(path, O_RDWR | O_CREAT, 0666);
    if (f->file < 0 || fstat(f->file, &about))
        return -1;
    for (at = (uint32_t)about.st_size / FLASH_FILE_SECTOR * FLASH_FILE_SECTOR; at < f->size;
         at += FLASH_FILE_SECTOR)
        if (flash_file_erase(f, at))
            return -1;
    f->memory = mmap(NULL, f->size, PROT_READ, MAP_SHARED, f->file, 0);
    f->flash.context = f;
    f->flash.read = flash_file_read;
    f->flash.prog = flash_file_prog;
    f->flash.erase = flash_file_erase;
    f->flash.sync = flash_file_sync;
    f->flash.prog_unit = 1;
    f->flash.erase_unit = FLASH_FILE_SECTOR;
    f->flash.erased_value = 0xff;
    return f->memory == MAP_FAILED ? -1 : flash_file_sync(f);
}

#endif
