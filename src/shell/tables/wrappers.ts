/** The syntax of a program that runs another. Flags not listed count as unknown. */
export interface Wrapper {
  /**
   * The inner command behaves as it would alone: `always` with the flags below, `bare` only without flags.
   * Absent: the wrapper changes who runs it, where, or with what.
   */
  readonly transparent?: 'always' | 'bare'
  /** Short flags without a value. */
  readonly flags?: string
  /** Short flags with a value. */
  readonly valued?: string
  /** Long flags; with `=` at the end if they take a value. */
  readonly long?: readonly string[]
  /** Short flags whose value is a shell line. */
  readonly lines?: string
  /** The number of its own words before the command. */
  readonly operands?: number
  /** The following words are joined and run by a shell. */
  readonly isLine?: true
  /** `A=B` may precede the command. */
  readonly assigns?: true
}

/** By name, or by name and first word (`npm exec`). */
export const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ['env', { transparent: 'bare', flags: 'i0v', valued: 'uC', lines: 'S', assigns: true }],
  ['nice', { transparent: 'always', flags: '0123456789', valued: 'n', long: ['--adjustment='] }],
  ['nohup', { transparent: 'always' }],
  [
    'timeout',
    {
      transparent: 'always',
      flags: 'v',
      valued: 'ks',
      long: ['--preserve-status', '--foreground', '--signal=', '--kill-after='],
      operands: 1,
    },
  ],
  ['stdbuf', { transparent: 'always', valued: 'ioe', long: ['--input=', '--output=', '--error='] }],
  ['time', { transparent: 'always', flags: 'pv' }],
  ['command', { transparent: 'always', flags: 'p' }],
  ['setsid', { transparent: 'always', flags: 'w', long: ['--wait'] }],
  ['ionice', { transparent: 'always', flags: 't', valued: 'cn' }],
  ['builtin', {}],
  ['exec', { flags: 'cl', valued: 'a' }],
  ['eval', { isLine: true }],
  ['sudo', { flags: 'AbEHiknPSs', valued: 'CDghpRrTtu', assigns: true }],
  ['doas', { flags: 'Lns', valued: 'aCu', assigns: true }],
  [
    'xargs',
    {
      flags: '0oprtx',
      valued: 'adEILnPs',
      long: ['--null', '--no-run-if-empty', '--verbose', '--max-args=', '--max-procs='],
    },
  ],
  ['strace', { flags: 'CcDdfFhikqrTtvVwxyYzZ', valued: 'abEeIOoPpSsuUX' }],
  ['chroot', { operands: 1 }],
  ['watch', { flags: 'bcdegtx', valued: 'nq', isLine: true }],
  ['flock', { flags: 'eFnosux', valued: 'Ew', lines: 'c', operands: 1 }],
  ['script', { flags: 'aefq', valued: 'BEIOTt', lines: 'c', operands: 1 }],
  ['ssh', { flags: '46AaCfGgKkMNnqsTtVvXxYy', valued: 'BbcDEeFIiJLlmpQRSWw', operands: 1, isLine: true }],
  ['busybox', {}],
  ['toybox', {}],
  ['npx', { flags: 'y', valued: 'p', lines: 'c', long: ['--yes', '--no', '--no-install', '--package='] }],
  ['npm exec', { flags: 'y', valued: 'p', lines: 'c', long: ['--yes', '--no', '--package=', '--silent'] }],
  ['npm x', { flags: 'y', valued: 'p', lines: 'c', long: ['--yes', '--no', '--package=', '--silent'] }],
  ['pnpx', {}],
  ['pnpm dlx', {}],
  ['pnpm exec', {}],
  ['yarn dlx', { flags: 'q', valued: 'p' }],
  ['bunx', {}],
  ['uvx', {}],
])

/** Programs that run their arguments, with unknown flags. */
export const opaqueWrappers: ReadonlySet<string> = new Set(
  `su runuser parallel unshare nsenter setpriv systemd-run systemd-inhibit capsh pkexec gosu su-exec runcon chrt taskset numactl
  prlimit choom cgexec firejail bwrap proot fakeroot fakechroot ltrace gdb valgrind perf faketime unbuffer rlwrap expect
  socat ncat torsocks torify proxychains proxychains4 xvfb-run dbus-run-session dbus-launch start-stop-daemon daemonize
  run-parts entr tmux screen at batch rsh mosh nix-shell caffeinate arch compgen complete
  cpulimit chpst setuidgid envuidgid envdir softlimit s6-setuidgid tini dumb-init catchsegv sshpass lxc-attach setarch
  linux32 linux64 i386 x86_64 uname26 hyperfine ifne chronic pee gxargs gtimeout gnice genv gnohup gstdbuf gchroot`
    .split(/\s+/)
    .filter(Boolean),
)

/** The depth to which wrappers are removed and nested lines are read. */
export const mostWrappers = 8

/** Programs that read shell lines. */
export const shells: ReadonlySet<string> = new Set(
  'sh bash zsh dash ksh mksh ash fish rbash csh tcsh yash posh ksh93 oksh pwsh'.split(' '),
)

/** Built-ins that change the meaning of later words, or evaluate their operands. */
export const stateChangingBuiltins: ReadonlySet<string> = new Set(
  `export declare typeset readonly local alias unalias set unset shopt enable trap source . eval exec builtin hash read
  mapfile readarray let getopts bind complete compgen compopt fc history`
    .split(/\s+/)
    .filter(Boolean),
)
