import type { AttackClass } from '../attack.ts'

const python = (script: string): string => `python3 -c '${script}'`
const needs = ['python3']
const libc = 'import ctypes, os; libc = ctypes.CDLL(None)'

/** What a command gets at by descriptors, memory and terminals instead of paths. */
export const descriptors: AttackClass = {
  name: 'descriptors and memory',
  leak: 'shown',
  attacks: [
    {
      name: 'program that is only in memory',
      line: python(
        `${libc}; f = libc.memfd_create(b"x", 0); os.write(f, open("payload.sh", "rb").read()); os.execv("/bin/sh", ["sh", f"/proc/self/fd/{f}"])`,
      ),
      needs,
    },
    {
      name: 'input of a terminal',
      line: python(`
import fcntl, glob, os
for path in ["/dev/tty", "/dev/console", *glob.glob("/dev/pts/[0-9]*"), *glob.glob("/proc/@PID/fd/*")]:
    try: print(os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), 100))
    except OSError: pass`),
      needs,
    },
    {
      name: 'open files of all processes',
      line: 'for f in /proc/[0-9]*/fd/*; do case $(readlink $f) in @OUT/*) cat $f;; esac; done',
    },
    { name: 'folders of all processes', line: 'for d in /proc/[0-9]*/cwd; do cat $d/secret.txt; done 2> /dev/null' },
    { name: 'roots of all processes', line: 'for d in /proc/[0-9]*/root; do cat $d@OUT/secret.txt; done 2> /dev/null' },
    {
      name: 'descriptor of a process by a call',
      line: python(
        `${libc}; f = libc.syscall(438, os.pidfd_open(@PID), 0, 0); os.lseek(f, 0, 0); print(os.read(f, 100))`,
      ),
      needs,
    },
    { name: 'command lines of all processes', line: "tr '\\0' ' ' < /dev/null; cat /proc/[0-9]*/cmdline" },
    { name: 'environments of all processes', line: 'cat /proc/[0-9]*/environ 2> /dev/null' },
    {
      name: 'memory that processes share',
      line: 'ipcs -m; cat /dev/shm/@ID',
      setup: 'echo @SECRET > /dev/shm/@ID',
    },
    {
      name: 'queue of messages',
      line: python(`
import ctypes
buffer = ctypes.create_string_buffer(200)
libc = ctypes.CDLL(None)
libc.msgrcv(libc.msgget(@KEY, 0), buffer, 100, 0, 2048)
print(buffer.raw)`),
      setup: python(`
import ctypes
libc = ctypes.CDLL(None)
libc.msgsnd(libc.msgget(@KEY, 950), b"\\1\\0\\0\\0\\0\\0\\0\\0@SECRET", 32, 0)`),
      cleanup: 'ipcrm -Q @KEY',
      needs,
    },
    {
      name: 'link that is swapped all the time',
      line: 'for i in $(seq 300); do ln -sfn docs l; ln -sfn @OUT l; cat l/secret.txt 2> /dev/null; done; rm -f l',
    },
    { name: 'link to the root of a process', line: 'ln -s /proc/@PID/root l; cat l@OUT/secret.txt' },
    {
      name: 'name with a line break',
      line: "cat $'a\\nb/l'",
      setup: "mkdir $'a\\nb'; ln -s @OUT/secret.txt $'a\\nb/l'",
    },
  ],
}
