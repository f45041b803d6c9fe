/** Programs that run their arguments: a grant for one would be a grant for everything. */
const launchers = new Set(
  [
    'sh bash dash zsh fish ksh mksh csh tcsh ash rbash pwsh powershell busybox toybox',
    'python python2 node nodejs deno bun ruby perl php lua luajit tclsh expect Rscript osascript ts-node tsx irb ghci julia',
    'awk gawk mawk nawk ed ex vi vim nvim emacs nano pico less more most man view gdb lldb strace ltrace sqlite3 psql mysql',
    'npx bunx pnpx uvx pipx corepack env sudo doas su runuser pkexec chroot unshare nsenter systemd-run setpriv',
    'xargs parallel find rm watch entr script screen tmux at batch crontab nohup setsid timeout nice ionice stdbuf time ssh socat nc ncat netcat',
    'eval source . exec trap alias unalias export declare typeset readonly local set unset shopt enable builtin command',
    'function coproc read mapfile readarray let hash bind complete compgen compopt fc history jobs bg fg disown wait kill',
    'pushd popd dirs umask ulimit type getopts return break continue exit logout suspend caller times printf test [',
  ].flatMap((names) => names.split(' ')),
)

/** Whether an approval of this command may be stored as a grant, if no table covers it. */
export function mayStoreGrant(program: string, args: readonly string[]): boolean {
  if (launchers.has(program) || /^(python|perl|ruby|lua|php|node)[\d.]+$/.test(program)) return false
  if (program === 'git') return args.length > 0
  const verb = args[0] ?? ''
  if (/^(npm|pnpm|yarn|bun)$/.test(program)) return args.length > 0 && !/^(exec|x|dlx|create|init|-.*)$/.test(verb)
  if (/^(docker|podman|kubectl)$/.test(program)) return !/^(exec|run)$/.test(verb)
  return true
}
