import { existsSync } from 'node:fs'

/** Resource limits of a command, set by the `ulimit` of its shell. */
export interface CommandLimits {
  /** Counts all processes of this user, not only those of the command. Does not apply to root. */
  readonly processes?: number
  /** Address space of each process. Some runtimes reserve far more than they use. */
  readonly memoryMb?: number
  /** The maximum size of each written file. */
  readonly fileSizeMb?: number
}

/** Turns a command into the program and arguments that run it. */
export type CommandShell = (command: string) => { file: string; args: string[] }

/** Uses bash if it exists, because models write for it. */
export function commandShell(limits: CommandLimits = {}): CommandShell {
  const bash = findBash()
  const shell = bash ?? '/bin/sh'
  // With a socket as stdin, bash assumes a remote login and would read .bashrc.
  const flags = bash ? '--norc -c --' : '-c --'
  const script = `${preparation}${limitLines(limits, bash !== undefined)}exec "$0" ${flags} "$1"`
  // The limits need a shell with known units; without limits the smaller shell starts faster.
  const file = Object.keys(limits).length > 0 ? shell : '/bin/sh'
  return (command) => ({ file, args: ['-c', script, shell, command] })
}

/** The path of bash, if this machine has it. */
export function findBash(): string | undefined {
  return ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path))
}

/** No core dumps; and when memory runs out, the kernel ends the command rather than this process. */
const preparation = 'ulimit -c 0; { echo 500 >/proc/self/oom_score_adj; } 2>/dev/null; '

/** A stricter limit stays; if a limit cannot be set, the command is not run. */
const setLimit = `limit() {
  now=$(ulimit "$1" 2>/dev/null)
  case $now in *[!0-9]*|'') ;; *) [ "$now" -gt "$2" ] || return 0 ;; esac
  ulimit "$1" "$2" 2>/dev/null && return
  echo "The limit $3 cannot be set on this system; leave it out" >&2
  exit 126
}
`

/** Lines of a script that set the limits for what it starts. */
export function limitLines({ processes, memoryMb, fileSizeMb }: CommandLimits, isBash: boolean): string {
  const blocksPerMb = isBash ? 1024 : 2048
  const lines = [
    processes === undefined ? '' : `limit ${isBash ? '-u' : '-p'} ${processes} processes\n`,
    memoryMb === undefined ? '' : `limit -v ${memoryMb * 1024} memoryMb\n`,
    fileSizeMb === undefined ? '' : `limit -f ${fileSizeMb * blocksPerMb} fileSizeMb\n`,
  ].join('')
  return lines && setLimit + lines
}
