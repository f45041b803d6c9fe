import { existsSync } from 'node:fs'
import { listenerCode, proxyPort } from './sandbox-network.ts'

/**
 * What a sandboxed program finds open beside its three streams. `status` is kept by bubblewrap outside, `report` is closed
 * before a command begins: what is read from them is true. Whatever a shell still holds then, its command can open too
 * (/proc/PID/fd), so that `left` may be anything.
 */
export const fds = { args: 3, seccomp: 4, status: 5, report: 6, left: 7, channel: 8 } as const
const stderr = 9

/** Before bubblewrap: into the group `$0`, and first to go when memory runs out. */
const outside = `{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null
[ -z "$0" ] || echo 0 >"$0" || exit 1
exec "$@"`

/** The program that runs bubblewrap with the arguments waiting in a descriptor, and then `inner` inside. */
export function outerCommand(bwrap: string, entrance: string | undefined, inner: readonly string[]) {
  return {
    file: '/bin/sh',
    args: ['-c', outside, entrance ?? '', bwrap, '--args', String(fds.args), '--', ...inner],
  }
}

/**
 * Inside: closes what came along, opens the way to the proxy, and runs a program in the folder `$1`. Afterwards it reports
 * what is still running. A request to end it is left to the program, which gets it too.
 */
export function innerCommand(cwd: string, program: readonly string[], listens: boolean): string[] {
  const bash = ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path))
  const script = `exec ${stderr}>&2 2>/dev/null
${bash ? closeOthers(listens) : 'exec 3>&- 4>&- 5>&-'}
${listens ? listen : ''}
cd -- "$1" || { echo folder >&${fds.report}; exit 125; }
${closeReport}
shift
trap : TERM
"$@" 2>&${stderr} ${stderr}>&- ${fds.left}>&-
code=$?
set -- /proc/[0-9]*
[ $# -le 2 ] || { ${reportOthers}; }
exit $code`
  // Given a socket to read from, bash takes itself for a remote login and would read .bashrc.
  const shell = bash ? [bash, '--norc'] : ['/bin/sh']
  return [...shell, '-c', script, 'sandbox', cwd, ...program]
}

/** What this process has open by an oversight of somebody else. */
const closeOthers = (listens: boolean): string => `for f in /proc/self/fd/*; do
  f=\${f##*/}; case $f in [012]|${[fds.report, fds.left, stderr, ...(listens ? [fds.channel] : [])].join('|')}) ;; *) eval "exec $f>&-";; esac
done`

/** The first process closes its own at about the same time. */
const closeReport = `n=0; while [ -L /proc/1/fd/${fds.report} ]; do
  n=$((n+1)); [ $n -le 500 ] || { echo 'the report stays open in the first process' >&${fds.report}; exit 125; }; sleep 0.01
done
exec ${fds.report}>&-`

const listen = `NODE_CHANNEL_FD=${fds.channel} ELECTRON_RUN_AS_NODE=1 '${process.execPath.replaceAll("'", `'\\''`)}' -e '${listenerCode}' ${proxyPort} 2>&${fds.report} || exit 125
exec ${fds.channel}>&-`

/** What was started just now needs a moment to become what it is. */
const reportOthers = `sleep 0.1; set -- /proc/[0-9]*; for p; do
  case $p in /proc/1|/proc/$$) ;; *) printf 'left '; tr '\\0\\n' '  ' <$p/cmdline; echo;; esac
done >&${fds.left}`

/** What bubblewrap and our script wrote into their descriptors. */
export interface Report {
  /** The sandbox stood, and a program was started in it. */
  readonly isBuilt: boolean
  /** There was no such folder to run in. */
  readonly hadNoFolder: boolean
  /** What kept the command from being started. */
  readonly said: string
  /** As the command may have made it up; it must decide nothing. */
  readonly leftRunning: readonly string[]
}

/** Of what each descriptor holds, in the end. */
export function readReport(status: string, report: string, left: string): Report {
  const own = linesOf(report)
  return {
    isBuilt: linesOf(status).some((line) => line.includes('"exit-code"')),
    hadNoFolder: own.includes('folder'),
    said: own.join('\n'),
    leftRunning: linesOf(left)
      .filter((line) => line.startsWith('left '))
      .map((line) => line.slice(5).trim())
      .filter((line) => line !== ''),
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}
