import { readFlags } from './flags.ts'
import { verb } from './network-programs.ts'
import { each, type FlagTable, type Program, type ReadArguments, reads, type Word } from './program.ts'

/** Words with which a package manager runs what its other words name. */
const packageRunner = /^(exec|x|dlx|create|init|-.*|)$/

/** Interpreters, compilers and package managers: they run code, mostly that of the project. */
export const codePrograms: Readonly<Record<string, Program>> = {
  npm: reads(readNpm, {
    version: '--version -v',
    obeys: 'project',
    writes: installs,
    sends: verb(
      /^(i|install|ci|add|update|up|upgrade|publish|unpublish|outdated|view|info|show|search|audit|ping|login|logout|whoami|exec|x|init|create|dist-tag|access|fund|token|owner|team|org|star|deprecate)$/,
    ),
    forgets: packageRunner,
  }),
  pnpm: {
    writes: installs,
    sends: verb(/^(i|install|add|update|up|publish|outdated|dlx|audit|fetch)$/),
    forgets: packageRunner,
  },
  yarn: {
    writes: installs,
    sends: verb(/^(install|add|upgrade|up|publish|outdated|dlx|audit)?$/),
    forgets: packageRunner,
  },
  bun: {
    version: '--version',
    writes: installs,
    sends: verb(/^(i|install|add|update|x|publish|create)$/),
    forgets: true,
  },
  ...each('npx bunx pnpx uvx pipx', { sends: () => true, forgets: true }),
  ...each('pip pip3', { version: '--version', sends: verb(/^(install|download|index|search|wheel)$/) }),
  uv: { sends: verb(/^(pip|add|sync|tool|run|lock|python)$/) },
  gem: { sends: verb(/^(install|update|push|fetch|search)$/) },
  cargo: {
    version: '--version -V',
    obeys: 'toolchain',
    sends: verb(/^(install|fetch|add|update|publish|search|login|build|run|test)$/),
  },
  rustc: { version: '--version -V', obeys: 'toolchain' },
  go: { version: 'version', obeys: 'toolchain', sends: verb(/^(get|install|mod|run|build|test)$/) },
  ...each('python python3', { version: '--version -V', forgets: true }),
  ...each('node ruby perl php', { version: '--version -v', forgets: true }),
  deno: { version: '--version', forgets: true },
  ...each(
    `python2 nodejs lua luajit tclsh Rscript osascript ts-node tsx irb ghci julia powershell corepack crontab
    awk gawk mawk nawk ed ex vi vim nvim emacs nano pico less more most man view lldb sqlite3 psql mysql`,
    { forgets: true },
  ),
  java: { version: '--version -version' },
  ...each('gcc clang cmake bash', { version: '--version' }),
  make: { version: '--version -v' },
  tsc: { version: '--version -v' },
}

/** npm with plain words: `npm test`, which runs the project's script, and `npm ls`. */
function readNpm([first, ...rest]: readonly Word[]): ReadArguments | string | undefined {
  const table = npmVerbs.find(([names]) => names.test(first?.text ?? ''))?.[1]
  const args = table && readFlags(table, rest)
  return typeof args === 'object' ? { ...args, runs: true } : args
}

const npmVerbs: readonly (readonly [RegExp, FlagTable])[] = [
  [/^(test|t|tst)$/, { short: 's', long: 'silent', words: 'none' }],
  [/^(ls|list|ll)$/, { short: 'gl', long: 'all json long depth: parseable global', words: 'text' }],
]

function installs([first = 'install', ...rest]: readonly string[]): string[] | undefined {
  return /^(i|install|ci|add|update|up|upgrade|uninstall|remove|rm|link|init|dedupe|version|pkg|audit)$/.test(first) &&
    !(first === 'pkg' && rest[0] === 'get')
    ? ['.']
    : undefined
}
