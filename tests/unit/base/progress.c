/* SPDX-License-Identifier: Apache-2.0
 * The line of progress on a terminal of its own: the timer's signal is raised here. */
#include "calls.h"

#include <poll.h>
#include <stdio.h>
#include <sys/time.h>

#include "base/progress.h"

static int terminal, stderr_before;

static void begin(void)
{
    char name[64];
    terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    assert_true(terminal >= 0);
    assert_int_equal(grantpt(terminal) | unlockpt(terminal), 0);
    assert_int_equal(ptsname_r(terminal, name, sizeof name), 0);
    const int fd = open(name, O_RDWR | O_NOCTTY);
    assert_true(fd >= 0);
    stderr_before = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
    progress_begin();
}

/* Without the timer: ticks come when the test wants them. */
static void doing(const char *what)
{
    static const struct itimerval none;
    progress_doing(what);
    setitimer(ITIMER_REAL, &none, NULL);
}

static void end(void)
{
    progress_end();
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    close(terminal);
}

/* What came last; the system hands on what is written to a terminal a little later. */
static const char *shown(const char *want)
{
    static char text[4096];
    size_t n = 0;
    const char *last;
    do {
        struct pollfd can = { .fd = terminal, .events = POLLIN };
        const int found = poll(&can, 1, *want ? 10000 : 0);
        const ssize_t some =
            found > 0 ? read(terminal, text + n, sizeof text - 1 - n) : 0;
        n += some > 0 ? (size_t)some : 0;
        text[n] = 0;
        last = text;
        for (const char *at = text; (at = strchr(at, '\r')); at++)
            last = at;
        if (some <= 0)
            break;
    } while (strcmp(last, want) != 0);
    return last;
}

/* What the terminal shows after so many ticks. */
static void expect(int ticks, const char *want)
{
    for (int i = 0; i < ticks; i++)
        raise(SIGALRM);
    assert_string_equal(shown(want), want);
}

#define CLEAR "\r\033[K"

static void seconds_and_bytes(void **state)
{
    (void)state;
    const uint64_t mib = 1 << 20;
    begin();
    progress_begin(); /* once more is nothing */
    expect(1, "");
    doing("one");
    expect(4, CLEAR "one, 0 s ");
    expect(1, CLEAR "one, 1 s ");
    progress_bytes("read", 30 * mib, 120 * mib);
    expect(100, CLEAR "one: 25 % of 120 MiB read, 11 s ");
    progress_bytes("read", 0, mib);
    expect(1, CLEAR "one: 0 % of 1 MiB read, 11 s ");
    progress_bytes("read", 0, mib - 1);
    expect(1, CLEAR "one, 11 s ");
    progress_bytes("read", 2 * mib, 2 * mib);
    expect(1, CLEAR "one, 11 s ");
    progress_bytes("read", 0, mib << 31);
    expect(1, CLEAR "one, 11 s ");
    progress_bytes("read", 0, (mib << 31) - mib);
    expect(1, CLEAR "one: 0 % of 2147483647 MiB read, 11 s ");
    doing("two");
    expect(0, CLEAR);
    expect(1, CLEAR "two, 0 s ");
    doing(NULL);
    expect(0, CLEAR);
    expect(1, "");
    end();
}

/* After half a second, then ten times in each, until nothing is done. */
static void the_timer_is_set(void **state)
{
    (void)state;
    struct itimerval timer = { .it_value = { 0, 0 } };
    begin();
    /* however long the machine takes in between */
    for (int i = 0; i < 100 && timer.it_value.tv_usec < 400 * 1000; i++) {
        progress_doing("one");
        getitimer(ITIMER_REAL, &timer);
    }
    assert_int_equal(timer.it_interval.tv_sec, 0);
    assert_int_equal(timer.it_interval.tv_usec, 100 * 1000);
    assert_int_equal(timer.it_value.tv_sec, 0);
    assert_in_range(timer.it_value.tv_usec, 400 * 1000, 510 * 1000);
    progress_doing(NULL);
    getitimer(ITIMER_REAL, &timer);
    assert_int_equal(timer.it_value.tv_sec | timer.it_value.tv_usec, 0);
    end();
}

static void messages_come_between(void **state)
{
    (void)state;
    begin();
    doing("one");
    expect(1, CLEAR "one, 0 s ");
    progress_pause();
    expect(1, CLEAR);
    progress_pause();
    expect(0, "");
    progress_resume();
    expect(1, CLEAR "one, 0 s ");
    end();
}

/* The line has an end, whatever is done. */
static void long_lines_are_cut(void **state)
{
    (void)state;
    char what[200], want[161];
    memset(what, 'w', sizeof what - 1);
    what[sizeof what - 1] = 0;
    snprintf(want, sizeof want, CLEAR "%.156s", what);
    begin();
    doing(what);
    expect(1, want);
    end();
}

static void a_terminal_that_went_is_left_alone(void **state)
{
    (void)state;
    begin();
    const int there = dup(STDERR_FILENO);
    doing("one");
    close(STDERR_FILENO);
    raise(SIGALRM);
    dup2(there, STDERR_FILENO);
    expect(1, "");
    doing("two");
    expect(1, CLEAR "two, 0 s ");
    close(STDERR_FILENO);
    progress_pause();
    dup2(there, STDERR_FILENO);
    close(there);
    progress_resume();
    expect(1, "");
    end();
}

/* No timer, no handler. */
static void files_get_no_line(void **state)
{
    (void)state;
    struct sigaction now;
    const int before = dup(STDERR_FILENO), file = open("/dev/null", O_RDWR);
    dup2(file, STDERR_FILENO);
    close(file);
    progress_begin();
    doing("one");
    progress_bytes("read", 1 << 20, 2 << 20);
    sigaction(SIGALRM, NULL, &now);
    assert_true(now.sa_handler == SIG_DFL);
    progress_end();
    dup2(before, STDERR_FILENO);
    close(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_and_bytes),
        cmocka_unit_test(the_timer_is_set),
        cmocka_unit_test(messages_come_between),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(a_terminal_that_went_is_left_alone),
        cmocka_unit_test(files_get_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
