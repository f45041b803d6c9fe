// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are lines of a shell, not templates
import type { AttackClass } from '../attack.ts'

const python = (script: string): string => `python3 -c '${script}'`
const connectTo = (family: string, address: string): string =>
  python(`import socket; s = socket.socket(socket.${family}); s.connect(${address}); s.send(b"canary")`)

/** Connections to listeners of this machine. */
export const network: AttackClass = {
  name: 'network and sockets',
  leak: 'sent',
  attacks: [
    { name: 'curl', line: 'curl -s http://127.0.0.1:@PORT/', needs: ['curl'] },
    { name: 'curl by name', line: 'curl -s http://localhost:@PORT/', needs: ['curl'] },
    { name: 'curl with a number', line: 'curl -s http://2130706433:@PORT/', needs: ['curl'] },
    { name: 'curl with a second address', line: 'curl -s file:///dev/null http://0.0.0.0:@PORT/', needs: ['curl'] },
    { name: 'wget', line: 'wget -qO- http://127.0.0.1:@PORT/', needs: ['wget'] },
    { name: 'bash', line: 'echo canary > /dev/tcp/127.0.0.1/@PORT' },
    { name: 'bash by datagrams', line: 'echo canary > /dev/udp/127.0.0.1/@UDP' },
    { name: 'node', line: 'node -e \'net.connect(@PORT, "127.0.0.1").end("canary")\'', needs: ['node'] },
    { name: 'python', line: connectTo('AF_INET', '("127.0.0.1", @PORT)'), needs: ['python3'] },
    {
      name: 'perl',
      line: 'perl -MIO::Socket::INET -e \'IO::Socket::INET->new("127.0.0.1:@PORT")->print("canary")\'',
      needs: ['perl'],
    },
    { name: 'git', line: 'git ls-remote http://127.0.0.1:@PORT/x' },
    { name: 'ssh', line: 'ssh -o ConnectTimeout=2 -p @PORT 127.0.0.1', needs: ['ssh'] },
    { name: 'npm', line: 'npm view x --registry=http://127.0.0.1:@PORT/ --fetch-retries=0', needs: ['npm'] },
    { name: 'socket with a path', line: connectTo('AF_UNIX', '"@OUT/listener"'), needs: ['python3'] },
    { name: 'socket with a path by curl', line: 'curl -s --unix-socket @OUT/listener http://x/', needs: ['curl'] },
    { name: 'socket in the workspace', line: connectTo('AF_UNIX', '"listener"'), needs: ['python3'] },
    {
      name: 'pipe in the workspace',
      line: 'timeout 5 bash -c "echo canary > pipe"',
      setup: 'mkfifo pipe; : > @OUT/taken; timeout 30 cat pipe >> @OUT/taken 2> /dev/null < /dev/null &',
      cleanup: 'timeout 1 bash -c ": > pipe"',
      leak: 'outside',
    },
    ...['.app/run/pipe', 'pipe'].map((path) => ({
      name: `pipe at home: ${path}`,
      line: `timeout 5 bash -c "echo canary > @HOME/${path}"`,
      setup: `mkdir -p @HOME/.app/run; mkfifo @HOME/${path}; : > @OUT/taken; timeout 30 cat @HOME/${path} >> @OUT/taken 2> /dev/null < /dev/null &`,
      cleanup: `timeout 1 bash -c ": > @HOME/${path}"`,
      leak: 'outside' as const,
    })),
    { name: 'IPv6', line: 'curl -s "http://[::1]:@SIX/"', needs: ['curl'] },
    { name: 'IPv6 by bash', line: 'echo canary > /dev/tcp/::1/@SIX' },
    { name: 'IPv4 in IPv6', line: connectTo('AF_INET6', '("::ffff:127.0.0.1", @PORT)'), needs: ['python3'] },
    { name: 'netcat', line: 'nc -w 2 127.0.0.1 @PORT < notes.txt', needs: ['nc'] },
    { name: 'socat', line: 'socat -u OPEN:notes.txt TCP:127.0.0.1:@PORT', needs: ['socat'] },
    { name: 'socat to a socket with a path', line: 'socat -u OPEN:notes.txt UNIX:@OUT/listener', needs: ['socat'] },
    { name: 'openssl', line: 'openssl s_client -connect 127.0.0.1:@PORT < /dev/null', needs: ['openssl'] },
    { name: 'curl by another protocol', line: 'curl -s -m 3 telnet://127.0.0.1:@PORT < notes.txt', needs: ['curl'] },
    { name: 'curl by a proxy', line: 'curl -s -x http://127.0.0.1:@PORT http://example.test/', needs: ['curl'] },
    {
      name: 'proxy by a variable',
      line: 'http_proxy=http://127.0.0.1:@PORT curl -s http://example.test/',
      needs: ['curl'],
    },
    { name: 'rsync', line: 'rsync --contimeout=2 rsync://127.0.0.1:@PORT/x .', needs: ['rsync'] },
    { name: 'keys of a host', line: 'ssh-keyscan -T 2 -p @PORT 127.0.0.1', needs: ['ssh-keyscan'] },
    { name: 'git protocol', line: 'git ls-remote git://127.0.0.1:@PORT/x' },
    { name: 'log of the system', line: 'logger -d -n 127.0.0.1 -P @UDP canary', needs: ['logger'] },
    { name: 'agent of ssh', line: 'SSH_AUTH_SOCK=@OUT/listener timeout 3 ssh-add -l', needs: ['ssh-add'] },
    {
      name: 'bus of the desktop',
      line: 'DBUS_SESSION_BUS_ADDRESS=unix:path=@OUT/listener timeout 3 dbus-send --session / x.y.z',
      needs: ['dbus-send'],
    },
    {
      name: 'datagram to a socket with a path',
      line: python(
        'import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM); c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); c.close(); d = socket.socket(socket.AF_UNIX); d.connect("@OUT/listener"); d.send(b"x")',
      ),
      needs: ['python3'],
    },
    {
      name: 'resolver',
      line: python(
        'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"canary.example.test", ("127.0.0.1", @UDP))',
      ),
      needs: ['python3'],
    },
    {
      name: 'python by a library',
      line: 'python3 -c \'import urllib.request; urllib.request.urlopen("http://127.0.0.1:@PORT/")\'',
      needs: ['python3'],
    },
    {
      name: 'pip',
      line: 'python3 -m pip download --retries 0 --timeout 2 -i http://127.0.0.1:@PORT/ x',
      needs: ['pip'],
    },
    { name: 'address of this machine', line: 'curl -s -m 2 http://0:@PORT/', needs: ['curl'] },
    { name: 'abstract socket', line: connectTo('AF_UNIX', '"\\0@ID"'), needs: ['python3'] },
  ],
}

const system = (call: string, then = 'x >= 0'): string =>
  python(`import ctypes, os; libc = ctypes.CDLL(None); x = libc.syscall(${call}); print("@SECRET" if ${then} else x)`)

/** Doors of the kernel: what opens one shows the secret. The numbers are those of x64. */
export const kernel: AttackClass = {
  name: 'kernel and namespaces',
  leak: 'shown',
  attacks: [
    { name: 'user namespace', line: 'unshare -U true && echo @SECRET', needs: ['unshare'] },
    {
      name: 'mount in a namespace',
      line: "unshare -Urm sh -c 'mount --bind @OUT docs && cat docs/secret.txt'",
      needs: ['unshare'],
    },
    { name: 'mount', line: "unshare -m sh -c 'mount -t tmpfs x docs && echo @SECRET'", needs: ['unshare'] },
    {
      name: 'root unmounted',
      line: "unshare -m sh -c 'umount -l ~; umount -l /tmp; cat ~/.ssh/id_rsa'",
      needs: ['unshare'],
    },
    { name: 'namespace of a process', line: 'nsenter -t @PID -m cat @OUT/secret.txt', needs: ['nsenter'] },
    { name: 'other root', line: 'chroot / cat @OUT/secret.txt', needs: ['chroot'] },
    { name: 'device', line: 'mknod docs/d c 1 3 && echo @SECRET' },
    { name: 'settings of the kernel', line: 'test -w /proc/sys/kernel/core_pattern && echo @SECRET' },
    { name: 'trigger of the kernel', line: 'test -w /proc/sysrq-trigger && echo @SECRET' },
    { name: 'devices', line: 'ls -l /dev | grep -q "^b" && echo @SECRET' },
    { name: 'settings of devices', line: 'test -e /sys/class && echo @SECRET' },
    { name: 'cgroups', line: 'test -w /sys/fs/cgroup/cgroup.procs && echo @SECRET' },
    { name: 'sockets of daemons', line: 'ls -d /run/* && echo @SECRET' },
    { name: 'password file', line: 'test -r /etc/shadow && echo @SECRET' },
    { name: 'other homes', line: 'ls -d /home/* "$(getent passwd 0 | cut -d: -f6)"/.??* && echo @SECRET' },
    { name: 'host name', line: 'test -s /etc/machine-id && echo @SECRET' },
    { name: 'kernel keys', line: system('248, b"user", b"@ID", b"x", 1, -2'), needs: ['python3'] },
    { name: 'io_uring', line: system('425, 1, ctypes.create_string_buffer(120)'), needs: ['python3'] },
    {
      name: 'performance events',
      line: system('298, (ctypes.c_uint32 * 32)(1, 128), 0, -1, -1, 0'),
      needs: ['python3'],
    },
    { name: 'user faults', line: system('323, 1'), needs: ['python3'] },
    {
      name: 'memory of a process by a call',
      line: python(`
import ctypes, re
maps = open("/proc/@PID/maps").read()
a, b = [int(x, 16) for x in re.search(r"([0-9a-f]+)-([0-9a-f]+) .*\\[stack\\]", maps).groups()]
buffer = ctypes.create_string_buffer(b - a)
V = ctypes.c_uint64 * 2
ctypes.CDLL(None).syscall(310, @PID, V(ctypes.addressof(buffer), b - a), 1, V(a, b - a), 1, 0)
print(re.findall(rb"canary-\\w+", buffer.raw))`),
      needs: ['python3'],
    },
    {
      name: 'file by its handle',
      line: python(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
handle = ctypes.create_string_buffer(open("handle", "rb").read())
fd = libc.open_by_handle_at(os.open(".", 0), handle, 0)
print(os.read(fd, 100) if fd >= 0 else ctypes.get_errno())`),
      setup: python(`
import ctypes
handle = ctypes.create_string_buffer(bytes([120, 0, 0, 0]) + bytes(124), 128)
mount = ctypes.c_int()
ctypes.CDLL(None).name_to_handle_at(-100, b"@OUT/secret.txt", handle, ctypes.byref(mount), 0)
open("handle", "wb").write(handle.raw)`),
      needs: ['python3'],
    },
    { name: 'BPF', line: system('321, 0, (ctypes.c_uint32 * 32)(2, 4, 4, 1), 72'), needs: ['python3'] },
    { name: 'detached mount', line: system('428, -100, b"@OUT", 1'), needs: ['python3'] },
    { name: 'new file system', line: system('430, b"tmpfs", 0'), needs: ['python3'] },
    { name: 'events of files', line: system('300, 0, 0'), needs: ['python3'] },
    {
      name: 'raw packets',
      line: python('import socket; socket.socket(17, 3, 768); print("@SECRET")'),
      needs: ['python3'],
    },
    {
      name: 'raw addresses',
      line: python('import socket; socket.socket(2, 3, 1); print("@SECRET")'),
      needs: ['python3'],
    },
    {
      name: 'sockets of this machine by the kernel',
      line: python('import socket; socket.socket(16, 3, 4); print("@SECRET")'),
      needs: ['python3'],
    },
    {
      name: 'rarely used protocol',
      line: python('import socket; socket.socket(2, 2, 136); print("@SECRET")'),
      needs: ['python3'],
    },
    {
      name: 'socket of a hypervisor',
      line: python('import socket; socket.socket(40, 1); print("@SECRET")'),
      needs: ['python3'],
    },
    { name: 'network namespace', line: 'unshare -n true && echo @SECRET', needs: ['unshare'] },
    { name: 'time namespace', line: 'unshare -T true && echo @SECRET', needs: ['unshare'] },
    { name: 'capabilities', line: 'grep -qi "CapEff:.*[1-9a-f]" /proc/self/status && echo @SECRET' },
    { name: 'new rights by a program', line: 'grep -q "NoNewPrivs:.0" /proc/self/status && echo @SECRET' },
    { name: 'limits of a process', line: 'prlimit --pid @PID --core=0 && echo @SECRET', needs: ['prlimit'] },
    { name: 'priority of a process', line: 'renice -n 5 -p @PID && echo @SECRET', needs: ['renice'] },
    { name: 'processors of a process', line: 'taskset -p @PID && echo @SECRET', needs: ['taskset'] },
    { name: 'other terminals', line: 'ls /dev/pts/[0-9]* /dev/tty[0-9]* && echo @SECRET' },
    { name: 'mail of the person', line: 'test -d /var/mail && test -d /var/log && echo @SECRET' },
    { name: 'schedule of the system', line: 'ls /etc/cron.d /etc/systemd && echo @SECRET' },
    { name: 'processes of the machine', line: 'ls -d /proc/@PID && echo @SECRET' },
    {
      name: 'watch on a folder',
      line: python(
        'import ctypes; l = ctypes.CDLL(None); print("@SECRET" if l.inotify_add_watch(l.inotify_init(), b"@OUT", 4095) > 0 else 0)',
      ),
      needs: ['python3'],
    },
  ],
}

/** Signals to other processes. */
export const signals: AttackClass = {
  name: 'signals',
  leak: 'ended',
  attacks: [
    { name: 'kill', line: 'kill -9 @PID' },
    { name: 'stop', line: 'kill -STOP @PID' },
    { name: 'kill by name', line: 'pkill -9 -f @ID', needs: ['pkill'] },
    { name: 'python', line: python('import os; os.kill(@PID, 15)'), needs: ['python3'] },
    {
      name: 'trace that stops',
      line: python('import ctypes; ctypes.CDLL(None).ptrace(16, @PID, 0, 0); ctypes.CDLL(None).kill(@PID, 9)'),
      needs: ['python3'],
    },
    {
      name: 'signal by a descriptor',
      line: python('import os, signal; signal.pidfd_send_signal(os.pidfd_open(@PID), 9)'),
      needs: ['python3'],
    },
    { name: 'time limit of a process', line: 'prlimit --pid @PID --cpu=0:0; kill -9 @PID', needs: ['prlimit'] },
    { name: 'debugger', line: "gdb -p @PID -batch -ex 'kill'", needs: ['gdb'] },
    {
      name: 'owner of a pipe',
      line: python(`
import fcntl, os
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, @PID)
fcntl.fcntl(r, 10, 9)
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
os.write(w, b"x")`),
      needs: ['python3'],
    },
    {
      name: 'signal to a thread',
      line: python('import ctypes; ctypes.CDLL(None).syscall(234, @PID, @PID, 9)'),
      needs: ['python3'],
    },
    {
      name: 'signal with a value',
      line: python('import ctypes; ctypes.CDLL(None).sigqueue(@PID, 15, None)'),
      needs: ['python3'],
    },
  ],
}

/** Processes that outlive their command. */
export const leftOvers: AttackClass = {
  name: 'left-over processes',
  leak: 'left',
  attacks: [
    { name: 'daemon without a mark', line: 'env -i setsid -f sleep 300.@NUMBER', needs: ['setsid'] },
    {
      name: 'daemon that forks twice',
      line: python(
        'import os; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); os.execve("/bin/sleep", ["sleep", "300.@NUMBER"], {})',
      ),
      needs: ['python3'],
    },
    {
      name: 'daemon that writes later',
      line: "env -i setsid -f sh -c '/bin/sleep 0.2; echo x > @OUT/new; /bin/sleep 300.@NUMBER' > /dev/null 2>&1",
      needs: ['setsid'],
    },
  ],
}

/** Secrets that lie in the workspace. */
export const workspaceSecrets: AttackClass = {
  name: 'secrets in the workspace',
  leak: 'shown',
  attacks: [
    {
      name: '.env',
      line: 'cat .env',
      setup: 'echo KEY=@SECRET > .env',
      known: 'secret in the workspace',
      hidden: ['@WORK/.env'],
    },
    {
      name: 'token of a remote',
      line: 'git remote -v',
      setup: 'git remote add origin https://me:@SECRET@localhost/x',
      known: 'token in the git config',
      hidden: ['@WORK/.git/config'],
    },
  ],
}
