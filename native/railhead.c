/**
 * What the monitor asks the system about threads and cannot ask fast, or at all, from JavaScript. Linux; N-API 8; any thread.
 *
 * Nothing is kept between calls: no memory, no descriptor, no thread of its own, so any number of threads may load it, and be
 * terminated in the middle of a call, without anything to clean up. A wrong argument gives the answer for "no such thread".
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <node_api.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 3 };

/** False, with nothing thrown, unless exactly `count` arguments were given. */
static bool arguments(napi_env env, napi_callback_info info, size_t count, napi_value* into) {
  size_t given = MOST_ARGUMENTS;
  return napi_get_cb_info(env, info, &given, into, NULL, NULL) == napi_ok && given == count;
}

/** NULL, which JavaScript sees as `undefined`, if the number cannot be made: then the thread is being terminated. */
static napi_value number(napi_env env, double value) {
  napi_value result;
  return napi_create_double(env, value, &result) == napi_ok ? result : NULL;
}

/** gettid(): this thread's id. By syscall: older C libraries have no function for it. */
static napi_value get_tid(napi_env env, napi_callback_info info) {
  (void)info;
  return number(env, (double)syscall(SYS_gettid));
}

/**
 * cpuMs(tid): CPU time that a thread of this process has used, in ms; -1 if it has ended. The clock's id is made from the
 * thread's number, as pthread_getcpuclockid does it, but without a pthread_t: reading one of a thread that has ended is
 * undefined, while the kernel looks the number up and refuses.
 */
static napi_value cpu_ms(napi_env env, napi_callback_info info) {
  napi_value given[MOST_ARGUMENTS];
  int32_t tid;
  struct timespec used;
  if (!arguments(env, info, 1, given) || napi_get_value_int32(env, given[0], &tid) != napi_ok || tid <= 0) return number(env, -1);
  clockid_t clock = (clockid_t)((~(uint32_t)tid << 3) | 6); // 2: scheduler's time; 4: of one thread
  if (clock_gettime(clock, &used) != 0) return number(env, -1);
  return number(env, (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6);
}

/**
 * state(descriptor, tid): code of the letter that stands for the thread's state, 'R' for running or ready to run, read through
 * a descriptor of /proc/self/task/<tid>/stat; 0 if the thread has ended or the descriptor is of another file by now.
 */
static napi_value state(napi_env env, napi_callback_info info) {
  napi_value given[MOST_ARGUMENTS];
  int32_t descriptor, tid;
  char text[128]; // "<tid> (<name>) R …": a name has at most 64 bytes
  if (!arguments(env, info, 2, given) || napi_get_value_int32(env, given[0], &descriptor) != napi_ok ||
      napi_get_value_int32(env, given[1], &tid) != napi_ok)
    return number(env, 0);
  ssize_t length = pread(descriptor, text, sizeof text, 0);
  ssize_t at = 0;
  int64_t named = 0;
  while (at < length && at < 10 && text[at] >= '0' && text[at] <= '9') named = named * 10 + (text[at++] - '0');
  if (at == 0 || named != tid) return number(env, 0);
  ssize_t end = length - 1; // a name may hold a bracket, what follows it cannot
  while (end > at && text[end] != ')') end--;
  return number(env, end > at && end + 2 < length ? (double)text[end + 2] : 0);
}

/**
 * release(bytes, from, to): gives the whole pages of a Uint8Array within [from, to) back to the system; how many bytes that
 * was, 0 if none could be. They read as zero afterwards and cost nothing until they are written again. That holds for private
 * anonymous memory, which is what V8 maps for a SharedArrayBuffer; MADV_REMOVE would be for shared mappings and fails here.
 * The buffer itself is never asked for: Node 20 cannot wrap a shared one.
 */
static napi_value release(napi_env env, napi_callback_info info) {
  napi_value given[MOST_ARGUMENTS];
  napi_typedarray_type type;
  size_t length;
  void* start;
  int64_t from, to;
  bool typed = false;
  if (!arguments(env, info, 3, given) || napi_is_typedarray(env, given[0], &typed) != napi_ok || !typed ||
      napi_get_typedarray_info(env, given[0], &type, &length, &start, NULL, NULL) != napi_ok || type != napi_uint8_array ||
      napi_get_value_int64(env, given[1], &from) != napi_ok || napi_get_value_int64(env, given[2], &to) != napi_ok)
    return number(env, 0);
  if (from < 0 || to < from || (uint64_t)to > length) return number(env, 0);
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t first = ((uintptr_t)start + (uintptr_t)from + page - 1) & ~(page - 1); // inwards: the neighbours are not ours
  uintptr_t end = ((uintptr_t)start + (uintptr_t)to) & ~(page - 1);
  if (end <= first || madvise((void*)first, end - first, MADV_DONTNEED) != 0) return number(env, 0);
  return number(env, (double)(end - first));
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {"gettid", NULL, get_tid, NULL, NULL, NULL, napi_enumerable, NULL},
      {"cpuMs", NULL, cpu_ms, NULL, NULL, NULL, napi_enumerable, NULL},
      {"state", NULL, state, NULL, NULL, NULL, napi_enumerable, NULL},
      {"release", NULL, release, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  // On failure an exception is pending, and the loader goes on without the addon.
  return napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions) == napi_ok ? exports : NULL;
}
