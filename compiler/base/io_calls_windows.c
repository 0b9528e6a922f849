/* SPDX-License-Identifier: Apache-2.0
 * POSIX's calls as Windows has them. Files are descriptors of the C library. A folder is an entry
 * of a table here: the path by which it was opened, which names in it are appended to. */
#include "base/io_windows.h"

#include <errno.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/io_calls.h"

/* The first number of a folder, beyond those that the C library gives to files. */
enum { FIRST_FOLDER = 1 << 20, FOLDERS = 64, MOST_BYTES = 1 << 30 };

typedef struct Folder {
    wchar_t *path; /* NULL: free */
    HANDLE lock;   /* a mutex, or NULL */
    HANDLE search; /* of getdents(); NULL: not begun */
    bool ended;
} Folder;

/* Of all threads: what a console tells the program comes in one of its own. */
static Folder folders[FOLDERS];

/* ---- errors ---- */

static const struct {
    DWORD windows;
    int posix;
} errors[] = {
    { ERROR_FILE_NOT_FOUND, ENOENT },
    { ERROR_PATH_NOT_FOUND, ENOENT },
    { ERROR_INVALID_NAME, ENOENT },
    { ERROR_BAD_PATHNAME, ENOENT },
    { ERROR_BAD_NETPATH, ENOENT },
    { ERROR_INVALID_DRIVE, ENOENT },
    { ERROR_FILE_EXISTS, EEXIST },
    { ERROR_ALREADY_EXISTS, EEXIST },
    { ERROR_DIR_NOT_EMPTY, ENOTEMPTY },
    { ERROR_DIRECTORY, ENOTDIR },
    { ERROR_ACCESS_DENIED, EACCES },
    { ERROR_SHARING_VIOLATION, EACCES },
    { ERROR_LOCK_VIOLATION, EACCES },
    { ERROR_WRITE_PROTECT, EROFS },
    { ERROR_NOT_SAME_DEVICE, EXDEV },
    { ERROR_DISK_FULL, ENOSPC },
    { ERROR_HANDLE_DISK_FULL, ENOSPC },
    { ERROR_TOO_MANY_OPEN_FILES, EMFILE },
    { ERROR_NOT_ENOUGH_MEMORY, ENOMEM },
    { ERROR_OUTOFMEMORY, ENOMEM },
    { ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG },
    { ERROR_CANT_RESOLVE_FILENAME, ELOOP },
    { ERROR_INVALID_FUNCTION, ENOSYS },
    { ERROR_NOT_SUPPORTED, ENOSYS },
};

static int fail(int error)
{
    errno = error;
    return -1;
}

static int fail_last(void)
{
    const DWORD last = GetLastError();
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].windows == last)
            return fail(errors[i].posix);
    return fail(EIO);
}

/* ---- paths ---- */

static Folder *folder_of(int fd)
{
    const int at = fd - FIRST_FOLDER;
    return at >= 0 && at < FOLDERS && folders[at].path ? folders + at : NULL;
}

/* Within a folder a name cannot leave it by what only Windows knows: drives, streams, '\'. */
static bool is_plain(const char *path)
{
    return *path && *path != '/' && !strpbrk(path, "\\:");
}

/* The text behind `at` characters, with its end; false: errno says why. */
static bool append(wchar_t *to, size_t at, const char *text)
{
    const int room = (int)(IO_WIDE_PATH - at);
    const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1,
                                      to + at, room);
    errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : ENOENT;
    return n > 0;
}

/* The full path, in the form that may be long and means no device. */
static bool make_full(const wchar_t *path, wchar_t *to)
{
    static const wchar_t prefix[] = L"\\\\?\\";
    enum { PREFIX = sizeof prefix / sizeof *prefix - 1 };
    wchar_t *own = to + PREFIX;
    const DWORD n = GetFullPathNameW(path, IO_WIDE_PATH - PREFIX, own, NULL);
    errno = ENAMETOOLONG;
    if (!n || n >= IO_WIDE_PATH - PREFIX)
        return false;
    if (own[0] && own[1] == L':')
        memcpy(to, prefix, PREFIX * sizeof *to);
    else
        memmove(to, own, (n + 1) * sizeof *to);
    return true;
}

static bool find_path(int in, const char *path, wchar_t *to)
{
    wchar_t joined[IO_WIDE_PATH];
    const Folder *folder = folder_of(in);
    size_t at = 0;
    errno = EBADF;
    if (in != AT_FDCWD && !folder)
        return false;
    errno = EINVAL;
    if (folder && !is_plain(path))
        return false;
    if (folder) {
        at = wcslen(folder->path);
        wmemcpy(joined, folder->path, at);
        joined[at++] = L'\\';
    }
    return append(joined, at, path) && make_full(joined, to);
}

static bool is_folder(DWORD attributes)
{
    return attributes != INVALID_FILE_ATTRIBUTES &&
           attributes & FILE_ATTRIBUTE_DIRECTORY;
}

/* ---- opened and closed ---- */

static int open_folder(const wchar_t *path)
{
    const size_t n = wcslen(path) + 1;
    int at = 0;
    while (at < FOLDERS && folders[at].path)
        at++;
    if (at == FOLDERS)
        return fail(EMFILE);
    wchar_t *own = n < IO_WIDE_PATH ? malloc(n * sizeof *own) : NULL;
    if (!own)
        return fail(ENOMEM);
    wmemcpy(own, path, n);
    folders[at] = (Folder){ .path = own };
    return FIRST_FOLDER + at;
}

static DWORD disposition(int flags)
{
    if (flags & O_CREAT && flags & O_EXCL)
        return CREATE_NEW;
    if (flags & O_CREAT)
        return flags & O_TRUNC ? CREATE_ALWAYS : OPEN_ALWAYS;
    return OPEN_EXISTING;
}

static int open_file(const wchar_t *path, DWORD access, DWORD how,
                     DWORD attributes)
{
    const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const HANDLE file =
        CreateFileW(path, access, share, NULL, how, attributes, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return fail_last();
    const int fd = _open_osfhandle((intptr_t)file, O_BINARY | O_NOINHERIT);
    if (fd < 0)
        CloseHandle(file);
    return fd;
}

static int open_windows(int in, const char *path, int flags, mode_t mode)
{
    wchar_t wide[IO_WIDE_PATH];
    const bool writes = flags & (O_WRONLY | O_RDWR);
    (void)mode;
    if (!find_path(in, path, wide))
        return -1;
    const DWORD attributes = GetFileAttributesW(wide);
    const bool there = attributes != INVALID_FILE_ATTRIBUTES;
    if (there && flags & O_NOFOLLOW &&
        attributes & FILE_ATTRIBUTE_REPARSE_POINT)
        return fail(ELOOP);
    if (is_folder(attributes))
        return writes ? fail(EISDIR) : open_folder(wide);
    if (there && flags & O_DIRECTORY)
        return fail(ENOTDIR);
    return open_file(wide, writes ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ,
                     disposition(flags), FILE_ATTRIBUTE_NORMAL);
}

static void end_search(Folder *folder)
{
    if (folder->search)
        FindClose(folder->search);
    folder->search = NULL;
    folder->ended = false;
}

static int close_windows(int fd)
{
    Folder *folder = folder_of(fd);
    if (!folder)
        return _close(fd);
    end_search(folder);
    if (folder->lock)
        CloseHandle(folder->lock);
    free(folder->path);
    *folder = (Folder){ 0 };
    return 0;
}

/* ---- what there is ---- */

/* Windows counts in 100 ns since 1601. */
static struct timespec time_of(FILETIME time)
{
    const uint64_t ticks =
        (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
    const uint64_t second = 10000000;
    const int64_t from_1601_to_1970 = INT64_C(11644473600);
    return (struct timespec){
        .tv_sec = (time_t)((int64_t)(ticks / second) - from_1601_to_1970),
        .tv_nsec = (long)(ticks % second * 100),
    };
}

static mode_t mode_of(DWORD attributes)
{
    if (attributes & FILE_ATTRIBUTE_DIRECTORY)
        return S_IFDIR | 0777;
    return S_IFREG | 0666;
}

static int stat_handle(HANDLE file, IoStat *to)
{
    BY_HANDLE_FILE_INFORMATION info;
    *to = (IoStat){ .st_mode = S_IFCHR };
    if (GetFileType(file) != FILE_TYPE_DISK)
        return 0;
    if (!GetFileInformationByHandle(file, &info))
        return fail_last();
    *to = (IoStat){
        .st_dev = info.dwVolumeSerialNumber,
        .st_ino = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow,
        .st_size =
            (int64_t)((uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow),
        .st_mode = mode_of(info.dwFileAttributes),
        .st_nlink = info.nNumberOfLinks,
        .st_mtim = time_of(info.ftLastWriteTime),
        .st_ctim = time_of(info.ftLastWriteTime),
    };
    return 0;
}

static int stat_path(const wchar_t *path, IoStat *to, int flags)
{
    const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    DWORD how = FILE_FLAG_BACKUP_SEMANTICS;
    if (flags & AT_SYMLINK_NOFOLLOW)
        how |= FILE_FLAG_OPEN_REPARSE_POINT;
    const HANDLE file =
        CreateFileW(path, 0, share, NULL, OPEN_EXISTING, how, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return fail_last();
    const int result = stat_handle(file, to);
    CloseHandle(file);
    return result;
}

static int stat_windows(int fd, IoStat *to)
{
    const Folder *folder = folder_of(fd);
    if (folder)
        return stat_path(folder->path, to, 0);
    return stat_handle((HANDLE)_get_osfhandle(fd), to);
}

static int stat_at_windows(int in, const char *path, IoStat *to, int flags)
{
    wchar_t wide[IO_WIDE_PATH];
    return find_path(in, path, wide) ? stat_path(wide, to, flags) : -1;
}

/* The next entry, which there is room for; 0: there is none. */
static ssize_t getdents_windows(int fd, void *to, size_t n)
{
    Folder *folder = folder_of(fd);
    wchar_t all[IO_WIDE_PATH + 2];
    WIN32_FIND_DATAW found;
    IoEntry *entry = to;
    if (!folder || n < sizeof *entry)
        return fail(EINVAL);
    if (folder->ended)
        return 0;
    if (folder->search) {
        folder->ended = !FindNextFileW(folder->search, &found);
    } else {
        wcscpy(all, folder->path);
        wcscat(all, L"\\*");
        folder->search = FindFirstFileW(all, &found);
        folder->ended = folder->search == INVALID_HANDLE_VALUE;
        if (folder->ended)
            folder->search = NULL;
    }
    if (folder->ended)
        return 0;
    entry->d_reclen = sizeof *entry;
    if (!WideCharToMultiByte(CP_UTF8, 0, found.cFileName, -1, entry->d_name,
                             NAME_MAX + 1, NULL, NULL))
        return fail(ENAMETOOLONG);
    return sizeof *entry;
}

/* ---- read and written ---- */

static ssize_t read_windows(int fd, void *to, size_t n)
{
    return _read(fd, to, n < MOST_BYTES ? (unsigned)n : MOST_BYTES);
}

static OVERLAPPED place_of(off_t at)
{
    return (OVERLAPPED){ .Offset = (DWORD)at,
                         .OffsetHigh = (DWORD)((uint64_t)at >> 32) };
}

static ssize_t pread_windows(int fd, void *to, size_t n, off_t at)
{
    OVERLAPPED place = place_of(at);
    const DWORD most = n < MOST_BYTES ? (DWORD)n : MOST_BYTES;
    DWORD read = 0;
    if (ReadFile((HANDLE)_get_osfhandle(fd), to, most, &read, &place))
        return read;
    return GetLastError() == ERROR_HANDLE_EOF ? 0 : fail_last();
}

static ssize_t pwrite_windows(int fd, const void *from, size_t n, off_t at)
{
    OVERLAPPED place = place_of(at);
    const DWORD most = n < MOST_BYTES ? (DWORD)n : MOST_BYTES;
    DWORD written = 0;
    if (WriteFile((HANDLE)_get_osfhandle(fd), from, most, &written, &place))
        return written;
    return fail_last();
}

/* Of a folder only its beginning. */
static off_t seek_windows(int fd, off_t at, int whence)
{
    Folder *folder = folder_of(fd);
    if (!folder)
        return _lseeki64(fd, at, whence);
    end_search(folder);
    return 0;
}

/* Folders are Windows' own business. A file may have been opened to be read only. */
static int sync_windows(int fd)
{
    if (folder_of(fd))
        return 0;
    const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const HANDLE file =
        ReOpenFile((HANDLE)_get_osfhandle(fd), GENERIC_WRITE, share, 0);
    if (file == INVALID_HANDLE_VALUE)
        return fail(EINVAL);
    const BOOL done = FlushFileBuffers(file);
    CloseHandle(file);
    return done ? 0 : fail_last();
}

/* ---- changed ---- */

/* A mutex of the folder's number: it is free again when its owner ends, however. */
static int lock_windows(int fd, int operation)
{
    wchar_t name[64];
    IoStat st;
    Folder *folder = folder_of(fd);
    (void)operation;
    if (!folder)
        return fail(ENOSYS);
    if (folder->lock)
        return 0;
    if (stat_path(folder->path, &st, 0))
        return -1;
    _snwprintf(name, sizeof name / sizeof *name, L"Local\\inlay-%llx-%llx",
               (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    const HANDLE mutex = CreateMutexW(NULL, FALSE, name);
    const bool others = mutex && GetLastError() == ERROR_ALREADY_EXISTS;
    if (!mutex)
        return fail_last();
    if (others) {
        CloseHandle(mutex);
        return fail(EWOULDBLOCK);
    }
    folder->lock = mutex;
    return 0;
}

static int chmod_windows(int fd, mode_t mode)
{
    (void)fd;
    (void)mode;
    return 0;
}

static int mkdir_windows(int in, const char *path, mode_t mode)
{
    wchar_t wide[IO_WIDE_PATH];
    (void)mode;
    if (!find_path(in, path, wide))
        return -1;
    return CreateDirectoryW(wide, NULL) ? 0 : fail_last();
}

static int rename_windows(int from, const char *a, int to, const char *b)
{
    wchar_t old[IO_WIDE_PATH], new[IO_WIDE_PATH];
    if (!find_path(from, a, old) || !find_path(to, b, new))
        return -1;
    if (MoveFileExW(old, new,
                    MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        return 0;
    const int result = fail_last();
    return is_folder(GetFileAttributesW(new)) ? fail(EEXIST) : result;
}

static int exchange_windows(int in, const char *a, const char *b)
{
    (void)in;
    (void)a;
    (void)b;
    return fail(ENOSYS);
}

static int link_windows(int from, const char *a, int to, const char *b,
                        int flags)
{
    wchar_t old[IO_WIDE_PATH], new[IO_WIDE_PATH];
    (void)flags;
    if (!find_path(from, a, old) || !find_path(to, b, new))
        return -1;
    return CreateHardLinkW(new, old, NULL) ? 0 : fail_last();
}

static int unlink_windows(int in, const char *path, int flags)
{
    wchar_t wide[IO_WIDE_PATH];
    if (!find_path(in, path, wide))
        return -1;
    if (flags & AT_REMOVEDIR)
        return RemoveDirectoryW(wide) ? 0 : fail_last();
    return DeleteFileW(wide) ? 0 : fail_last();
}

const IoCalls io_system = {
    .openat = open_windows,
    .close = close_windows,
    .fstat = stat_windows,
    .fstatat = stat_at_windows,
    .read = read_windows,
    .pread = pread_windows,
    .pwrite = pwrite_windows,
    .lseek = seek_windows,
    .getdents = getdents_windows,
    .flock = lock_windows,
    .fsync = sync_windows,
    .fchmod = chmod_windows,
    .mkdirat = mkdir_windows,
    .renameat = rename_windows,
    .exchange = exchange_windows,
    .linkat = link_windows,
    .unlinkat = unlink_windows,
};

/* ---- beside the table ---- */

bool io_real_path(const char *path, char *to, size_t room)
{
    wchar_t wide[IO_WIDE_PATH];
    if (!find_path(AT_FDCWD, path, wide))
        return false;
    if (GetFileAttributesW(wide) == INVALID_FILE_ATTRIBUTES) {
        fail_last();
        return false;
    }
    const size_t prefix = wcsncmp(wide, L"\\\\?\\", 4) ? 0 : 4;
    errno = ENAMETOOLONG;
    if (!WideCharToMultiByte(CP_UTF8, 0, wide + prefix, -1, to, (int)room, NULL,
                             NULL))
        return false;
    for (; *to; to++)
        if (*to == '\\')
            *to = '/';
    return true;
}

const char *io_temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = getenv("TEMP");
    return folder && *folder ? folder : ".";
}

int io_temporary(const char *folder)
{
    wchar_t wide[IO_WIDE_PATH], name[IO_WIDE_PATH];
    if (!append(wide, 0, folder))
        return -1;
    if (!GetTempFileNameW(wide, L"inl", 0, name))
        return fail_last();
    return open_file(name, GENERIC_READ | GENERIC_WRITE, CREATE_ALWAYS,
                     FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE);
}
