import type { AttackClass } from '../attack.ts'

const python = (script: string): string => `python3 -c '${script}'`

/** Connects to a socket with a path by the calls of 32-bit programs, which a filter for those of 64 bits does not see. */
const otherCalls = `cat > e.c << 'E'
#include <sys/mman.h>
#include <string.h>
static int call(int n, int a, int b, int c) {
  int r;
  __asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory");
  return r;
}
int main(int n, char **v) {
  char *m = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  m[0] = 1;
  strcpy(m + 2, v[1]);
  int s = call(359, 1, 1, 0);
  call(362, s, (int)(long)m, 110);
  call(4, s, (int)(long)(m + 2), 3);
}
E
gcc -w -o e e.c`

/** Ways into the kernel beside the usual ones: other calls and protocols, settings of processes, attributes of files. */
export const interfaces: AttackClass = {
  name: 'other interfaces of the kernel',
  leak: 'shown',
  attacks: [
    {
      name: 'calls of 32-bit programs',
      line: './e listener',
      setup: otherCalls,
      leak: 'sent',
      needs: process.arch === 'x64' ? ['gcc'] : ['calls-of-x86'],
    },
    {
      name: 'several paths for one connection',
      line: python(
        'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.connect(("127.0.0.1", @PORT)); s.send(b"x")',
      ),
      leak: 'sent',
      needs: ['python3'],
    },
    {
      name: 'data with the first packet',
      line: python('import socket; socket.socket().sendto(b"canary", 0x20000000, ("127.0.0.1", @PORT))'),
      leak: 'sent',
      needs: ['python3'],
    },
    { name: 'process to be ended first', line: 'echo 500 > /proc/@PID/oom_score_adj && echo @SECRET' },
    { name: 'turns at the disk', line: 'ionice -c 3 -p @PID && echo @SECRET', needs: ['ionice'] },
    { name: 'group of a session', line: 'echo 5 > /proc/@PID/autogroup && echo @SECRET' },
    { name: 'way of scheduling', line: 'chrt -b -p 0 @PID && echo @SECRET', needs: ['chrt'] },
    { name: 'marks of written pages', line: 'echo 1 > /proc/@PID/clear_refs && echo @SECRET' },
    { name: 'call that a process waits in', line: 'cat /proc/@PID/syscall && echo @SECRET' },
    {
      name: 'handle of a process',
      line: python('import os; os.pidfd_open(@PID); print("@SECRET")'),
      needs: ['python3'],
    },
    {
      name: 'comparison of processes',
      line: python(
        'import ctypes, os; print("@SECRET" if ctypes.CDLL(None).syscall(312, os.getpid(), @PID, 1, 0, 0) >= 0 else 0)',
      ),
      needs: process.arch === 'x64' ? ['python3'] : ['calls-of-x86'],
    },
    { name: 'attribute of a file', line: 'chattr +d notes.txt', leak: 'workspace', needs: ['chattr'] },
    { name: 'attribute of a folder', line: 'chattr +A src', leak: 'workspace', needs: ['chattr'] },
    {
      name: 'project of a file',
      line: python(
        'import fcntl, os; f = os.open("notes.txt", os.O_RDONLY); b = bytearray(28); fcntl.ioctl(f, 0x801c581f, b); b[12] = 7; fcntl.ioctl(f, 0x401c5820, b)',
      ),
      leak: 'workspace',
      needs: ['python3'],
    },
    {
      name: 'version of a file',
      line: python(
        'import fcntl, os; fcntl.ioctl(os.open("notes.txt", os.O_RDONLY), 0x40087602, bytes([7, 0, 0, 0, 0, 0, 0, 0]))',
      ),
      leak: 'workspace',
      needs: ['python3'],
    },
  ],
}

const alias = "printf '[alias]\\n st = !@WORK/payload.sh\\n'"

/** What Libero itself does afterwards with paths that the command chose: it takes away, restores, finds repositories. */
export const confusion: AttackClass = {
  name: 'work of Libero after a command',
  leak: 'outside',
  attacks: [
    {
      name: 'link in place of the folder of a watched file',
      line: 'rm -rf .yarn; ln -s @OUT/deep .yarn; rm -rf @OUT/deep/releases',
      setup: 'mkdir .yarn; mkdir @OUT/deep/releases; echo x > @OUT/deep/releases/y',
    },
    {
      name: 'link in place of another such folder',
      line: 'rm -rf .bundle; ln -s @OUT/b .bundle; rm -f @OUT/b/config',
      setup: 'mkdir .bundle @OUT/b; echo x > @OUT/b/config',
    },
    {
      name: 'link in place of a nested repository',
      line: 'mv p q; mkdir p; ln -s @OUT/a p/a; rm -f @OUT/a/.git/commondir',
      setup: 'git init -q --template= p/a; mkdir -p @OUT/a/.git; echo x > @OUT/a/.git/commondir',
    },
    { name: 'watched name as a link', line: 'ln -s @OUT/keep.txt .vimrc; echo x >> .vimrc' },
    { name: 'watched name as a link to a folder', line: 'ln -s @OUT/deep .nvim; echo x > .nvim/init.lua' },
    {
      name: 'watched name as a link to a startup file',
      line: 'ln -s ~/.bashrc .inputrc; echo x >> .inputrc',
      leak: 'home',
    },
    { name: 'link in a watched folder', line: 'mkdir .nvim; ln -s @OUT/deep .nvim/x; echo y > .nvim/x/y' },
    {
      name: 'copy of the folder of a repository',
      line: `mv packages p; cp -r p packages; ${alias} >> packages/a/.git/config`,
      setup: 'git init -q --template= packages/a',
      later: 'cd packages/a && git st',
      leak: 'later',
    },
    {
      name: 'repository without a work tree',
      line: `${alias} >> mirror.git/config`,
      setup: 'git init -q --bare --template= mirror.git',
      later: 'cd mirror.git && git st',
      leak: 'later',
    },
    {
      name: 'repository without a work tree by another name',
      line: `${alias} >> backup/config`,
      setup: 'git init -q --bare --template= backup',
      later: 'cd backup && git st',
      leak: 'later',
    },
    {
      name: 'workspace whose name is a pattern',
      cwd: '@OUT/w[1]*{a,b}',
      line: python('print(open(".npmrc").read())'),
      setup: "mkdir '@OUT/w[1]*{a,b}'; echo //localhost/:_authToken=@SECRET > '@OUT/w[1]*{a,b}/.npmrc'",
      leak: 'shown',
      needs: ['python3'],
    },
    { name: 'list of repositories to maintain', line: 'git maintenance register', leak: 'home' },
    {
      name: 'password that git keeps',
      line: "printf 'protocol=https\\nhost=x\\nusername=a\\npassword=b\\n' | git credential-store store",
      leak: 'home',
    },
  ],
}
