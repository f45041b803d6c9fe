import type { ChildProcess } from 'node:child_process'
import { Server, Socket } from 'node:net'
import { matchesHostRule } from '../../platform/addresses.ts'
import { asRuntime, isSingleExecutable } from '../../platform/own-executable.ts'
import { findBash } from '../commands/command-shell.ts'

/**
 * The further descriptors of a sandboxed program. `status` is written by bubblewrap outside, and `report` is closed before a
 * command begins, so their content can be trusted. A command can open every descriptor that its shell still has
 * (/proc/PID/fd), so `left` cannot be trusted.
 */
export const fds = { args: 3, seccomp: 4, status: 5, report: 6, left: 7, channel: 8, copies: 10 } as const
/** Where the script keeps the standard error of the command. Before, it is the gate. */
export const stderr = 9

/**
 * First of all inside, where all mounts are made: waits until this process has looked whether a command that runs at the same
 * time put a link in the place of one of them. Else a mount could be of a folder outside.
 */
export const awaitGate: string = `echo >&${stderr}; read -r libero_gate <&${stderr} || exit 125; unset libero_gate`

/** Lets the program begin if all is covered; else it waits until it is killed. */
export function openGate(child: ChildProcess, isCovered: () => Promise<boolean>): void {
  const gate = socketAt(child, stderr)
  gate.on('error', () => {}) // the sandbox is gone
  gate.once('data', async () => {
    if (await isCovered()) gate.end('\n')
  })
}

/** A descriptor of a sandboxed program that is a pipe here. */
export function socketAt(child: ChildProcess, fd: number): Socket {
  const stream = child.stdio[fd]
  if (!(stream instanceof Socket)) throw new Error(`the descriptor ${fd} of a sandbox is no pipe`)
  return stream
}

/** Before bubblewrap: joins the cgroup `$0`, and is the first to be ended when memory runs out. */
const outside = `{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null
[ -z "$0" ] || echo 0 >"$0" || exit 1
exec "$@"`

/** Runs bubblewrap with the arguments in a descriptor, and `inner` in the sandbox. */
export function outerCommand(bwrap: string, entrance: string | undefined, inner: readonly string[]) {
  return {
    file: '/bin/sh',
    args: ['-c', outside, entrance ?? '', bwrap, '--args', String(fds.args), '--', ...inner],
  }
}

/**
 * Inside the sandbox: closes inherited descriptors, opens the port of the proxy, and runs a program in the folder `$1`. Then it
 * reports leftover processes. It ignores SIGTERM, which the program receives too.
 */
export function innerCommand(cwd: string, program: readonly string[], listens: boolean): string[] {
  if (listens && isSingleExecutable())
    throw new Error(
      'A sandbox with a few allowed hosts needs Node inside, and this program is a single executable application, which has none to start. Nothing was run. Set `network` to false or true, or run the program with Node',
    )
  const bash = findBash()
  const script = `${awaitGate}
exec ${stderr}>&2 2>/dev/null
${bash ? closeOthers(listens ? [fds.channel] : []) : 'exec 3>&- 4>&- 5>&-'}
${listens ? listen : ''}
cd -- "$1" || { echo folder >&${fds.report}; exit 125; }
${awaitClosedReport}
exec ${fds.report}>&-
shift
trap : TERM
"$@" 2>&${stderr} ${stderr}>&- ${fds.left}>&-
code=$?
set -- /proc/[0-9]*
[ $# -le 2 ] || { ${reportOthers}; }
exit $code`
  // With a socket as stdin, bash assumes a remote login and would read .bashrc.
  const shell = bash ? [bash, '--norc'] : ['/bin/sh']
  return [...shell, '-c', script, 'sandbox', cwd, ...program]
}

/** Closes descriptors that were inherited by mistake. */
export const closeOthers = (kept: readonly number[]): string => `for f in /proc/self/fd/*; do
  f=\${f##*/}; case $f in [012]|${[fds.report, fds.left, stderr, ...kept].join('|')}) ;; *) eval "exec $f>&-";; esac
done`

/** The first process closes its own descriptor at about the same time. */
export const awaitClosedReport: string = `n=0; while [ -L /proc/1/fd/${fds.report} ]; do
  n=$((n+1)); [ $n -le 500 ] || { echo 'the report stays open in the first process' >&${fds.report}; exit 125; }; sleep 0.01
done`

/** The port of the proxy inside the sandbox. */
const proxyPort = 3128

/**
 * Runs in the sandbox before the command. It opens the port in the network of the sandbox and passes it to this process, so
 * that no process and no socket file has to stay inside. Must not contain single quotes.
 */
const listenerCode =
  'const s = require("net").createServer(); s.on("error", (e) => { console.error(e.message); process.exit(1) }); s.listen(Number(process.argv[1]), "127.0.0.1", 128, () => process.send("port", s, () => process.exit(0)))'

const listen = `NODE_CHANNEL_FD=${fds.channel} ${asRuntime} '${process.execPath.replaceAll("'", `'\\''`)}' -e '${listenerCode}' ${proxyPort} 2>&${fds.report} || exit 125
exec ${fds.channel}>&-`

/** A process that has just started needs a moment until its command line is set. */
export const reportOthers: string = `sleep 0.1; set -- /proc/[0-9]*; for p; do
  case $p in /proc/1|/proc/$$) ;; *) printf 'left '; tr '\\0\\n' '  ' <$p/cmdline; echo;; esac
done >&${fds.left}`

/** What bubblewrap and the script reported. */
export interface Report {
  /** The sandbox was built, and a program was started in it. */
  readonly isBuilt: boolean
  /** The working folder did not exist. */
  readonly hadNoFolder: boolean
  /** Why the command was not started. */
  readonly problem: string
  /** May be forged by the command; must not influence decisions. */
  readonly leftRunning: readonly string[]
}

/** Parses the final content of each descriptor. */
export function readReport(status: string, report: string, left: string): Report {
  const own = linesOf(report)
  return {
    isBuilt: linesOf(status).some((line) => line.includes('"exit-code"')),
    hadNoFolder: own.includes('folder'),
    problem: own.join('\n'),
    leftRunning: linesOf(left)
      .filter((line) => line.startsWith('left '))
      .map((line) => line.slice(5).trim())
      .filter((line) => line !== ''),
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

/** Accepts connections on the port that the listener passes; the result closes it. */
export function acceptFrom(child: ChildProcess, take: (socket: Socket) => void): () => void {
  let port: Server | undefined
  child.once('message', (_, handle) => {
    if (!(handle instanceof Server)) return
    port = handle
    port.on('connection', take)
    port.on('error', () => {}) // the sandbox is gone
  })
  return () => void port?.close()
}

/** Variables that make programs use the proxy. Servers inside the sandbox are reached directly. */
export function proxyEnv(allow: readonly string[], port: number = proxyPort): Record<string, string> {
  const proxy = `http://127.0.0.1:${port}`
  const own = ['localhost', '127.0.0.1', '::1'].filter((host) => !isOutside(host, allow)).join(',')
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  return Object.fromEntries([
    ...names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, proxy]),
    ['NO_PROXY', own],
    ['no_proxy', own],
    ['NODE_USE_ENV_PROXY', '1'],
  ])
}

/** Whether a loopback name means that of this machine, on any port. */
function isOutside(host: string, allow: readonly string[]): boolean {
  return allow.some((rule) => matchesHostRule(host, Number(/:(\d+)$/.exec(rule)?.[1] ?? 0), [rule]))
}
