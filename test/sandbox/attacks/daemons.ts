// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are lines of a shell, not templates
import type { AttackClass } from '../attack.ts'

const python = (script: string): string => `python3 -c '${script}'`
const needs = ['python3']

/** Puts the socket of a listener where a program of the person looks for its daemon. */
const at = (path: string): string => `mkdir -p "$(dirname "${path}")"; ln -sf @OUT/listener "${path}"`

/** Takes datagrams for the person and keeps them in the folder outside. */
const datagrams = `timeout 30 python3 -c '
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("@OUT/datagrams")
got = s.recv(100)
open("@OUT/taken", "wb").write(got)' < /dev/null > /dev/null 2>&1 &
until [ -S @OUT/datagrams ]; do sleep 0.05; done`

const datagram = (type: string): string =>
  python(
    `import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.${type}); a.sendto(b"canary", "@OUT/datagrams")`,
  )

/** Daemons of the person that act for programs which reach their sockets. */
export const daemons: AttackClass = {
  name: 'daemons of the person',
  leak: 'sent',
  attacks: [
    {
      name: 'agent of gpg',
      line: 'timeout 3 gpg-connect-agent -S ~/.gnupg/S.gpg-agent /bye',
      setup: at('$HOME/.gnupg/S.gpg-agent'),
      needs: ['gpg-connect-agent'],
    },
    {
      name: 'engine of containers',
      line: 'curl -s -m 3 --unix-socket ~/.docker/run/docker.sock http://x/containers/json',
      setup: at('$HOME/.docker/run/docker.sock'),
      needs: ['curl'],
    },
    {
      name: 'engine of containers by its program',
      line: 'DOCKER_HOST=unix://@OUT/listener timeout 3 docker ps',
      needs: ['docker'],
    },
    {
      name: 'engine of containers by its settings',
      line: 'timeout 3 docker --config c ps',
      setup: `mkdir -p c; echo '{"currentContext":"x"}' > c/config.json
        d=c/contexts/meta/$(printf x | sha256sum | cut -d' ' -f1); mkdir -p $d
        echo '{"Name":"x","Endpoints":{"docker":{"Host":"unix://@OUT/listener"}}}' > $d/meta.json`,
      needs: ['docker'],
    },
    {
      name: 'cache of git passwords',
      line: 'git credential-cache --socket @OUT/listener get <<< protocol=https',
      setup: 'chmod 700 @OUT',
    },
    { name: 'connection of ssh', line: 'timeout 3 ssh -S @OUT/listener -O check x', needs: ['ssh'] },
    {
      name: 'terminals of the person',
      line: 'timeout 3 tmux -S @OUT/listener list-sessions',
      needs: ['tmux'],
    },
    {
      name: 'keys typed into a terminal of the person',
      line: 'timeout 5 tmux -S @OUT/terminals send-keys "echo x > @OUT/new" Enter; sleep 1',
      setup: 'tmux -f /dev/null -S @OUT/terminals new-session -d /bin/sh',
      cleanup: 'tmux -S @OUT/terminals kill-server',
      leak: 'outside',
      needs: ['tmux'],
    },
    {
      name: 'service that the system starts',
      line: 'DBUS_SESSION_BUS_ADDRESS=unix:path=@OUT/listener timeout 3 systemd-run --user true',
      needs: ['systemd-run'],
    },
    {
      name: 'bus by an address',
      line: 'timeout 3 busctl --address=unix:path=@OUT/listener list',
      needs: ['busctl'],
    },
    {
      name: 'bus by a name without a file',
      line: 'timeout 3 busctl --address=unix:abstract=@ID list',
      needs: ['busctl'],
    },
    {
      name: 'database',
      line: 'PGCONNECT_TIMEOUT=3 psql -h @OUT -c "select 1"',
      setup: at('@OUT/.s.PGSQL.5432'),
      needs: ['psql'],
    },
    {
      name: 'events of git',
      line: 'GIT_TRACE2_EVENT=af_unix:stream:@OUT/listener git status',
    },
    {
      name: 'socket by node',
      line: 'node -e \'net.connect("@OUT/listener").end("canary")\'',
      needs: ['node'],
    },
    {
      name: 'socket by perl',
      line: 'perl -MIO::Socket::UNIX -e \'IO::Socket::UNIX->new("@OUT/listener")->print("canary")\'',
      needs: ['perl'],
    },
    {
      name: 'socket that the workspace links to',
      line: 'curl -s -m 3 --unix-socket docs/l http://x/',
      setup: 'ln -s @OUT/listener docs/l',
      needs: ['curl'],
    },
    { name: 'datagram of a pair', line: datagram('SOCK_DGRAM'), setup: datagrams, leak: 'outside', needs },
    { name: 'datagram of a raw pair', line: datagram('SOCK_RAW'), setup: datagrams, leak: 'outside', needs },
  ],
}

const peer = `
import ctypes, fcntl, os, signal, socket
s = next(socket.socket(fileno=os.dup(f)) for f in (1, 2) if os.path.realpath("/proc/self/fd/%d" % f).find("socket:") >= 0)
libc = ctypes.CDLL(None, use_errno=True)
value, size = ctypes.c_int(), ctypes.c_int(4)
libc.getsockopt(s.fileno(), 1, 77, ctypes.byref(value), ctypes.byref(size))
p = value.value`

/** The output of a command is a socket: the process at its other end is Libero. The numbers are those of x64. */
export const otherEnds: AttackClass = {
  name: 'other ends of descriptors',
  leak: 'shown',
  attacks: [
    {
      name: 'signal',
      line: python(`${peer}
signal.pidfd_send_signal(p, 0)
print("@SECRET")`),
      needs,
    },
    {
      name: 'descriptor',
      line: python(`${peer}
print("@SECRET" if libc.syscall(438, p, 0, 0) >= 0 else ctypes.get_errno())`),
      needs,
    },
    {
      name: 'namespace',
      line: python(`${peer}
print("@SECRET" if fcntl.ioctl(p, 0xff03) >= 0 else 0)`),
      needs,
    },
    {
      name: 'number of the process',
      line: python(`${peer}
print("@SECRET" if int.from_bytes(s.getsockopt(1, 17, 12)[:4], "little") > 0 else 0)`),
      needs,
    },
    {
      name: 'folder of the process',
      line: python(`${peer}
pid = int.from_bytes(s.getsockopt(1, 17, 12)[:4], "little")
os.stat("/proc/%d/root" % pid) if pid > 0 else os._exit(1)
print("@SECRET")`),
      needs,
    },
    {
      name: 'queue of the system',
      line: python(`
import ctypes, os
libc = ctypes.CDLL(None)
buffer = ctypes.create_string_buffer(9000)
libc.mq_receive(libc.mq_open(b"/@ID", os.O_RDONLY | os.O_NONBLOCK), buffer, 9000, None)
print(buffer.value)`),
      setup: python(`
import ctypes, os
libc = ctypes.CDLL(None)
libc.mq_send(libc.mq_open(b"/@ID", os.O_WRONLY | os.O_CREAT, 384, None), b"@SECRET", 23, 0)`),
      cleanup: python('import ctypes; ctypes.CDLL(None).mq_unlink(b"/@ID")'),
      needs,
    },
    {
      name: 'descriptors that two processes share',
      line: python(
        'import ctypes; print("@SECRET" if ctypes.CDLL(None).syscall(312, @PID, @PID, 2, 0, 0) >= 0 else 0)',
      ),
      needs,
    },
    {
      name: 'pages of a process',
      line: python(
        'import ctypes; print("@SECRET" if ctypes.CDLL(None).syscall(279, @PID, 0, None, None, None, 0) >= 0 else 0)',
      ),
      needs,
    },
  ],
}
