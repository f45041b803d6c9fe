import type { FlagTable } from './flags.ts'

/** Programs that print facts about the machine, the time or the user. */
export const machinePrograms: Readonly<Record<string, FlagTable>> = {
  // -s sets the clock, and so does a word that is no format.
  date: {
    short: 'd:I?Rur<',
    long: 'date: iso-8601? rfc-3339: rfc-email utc universal reference<',
    words: 'text',
    most: 1,
    check: ({ words }) =>
      words.find(({ text }) => !text.startsWith('+')) && 'a word that does not begin with + sets the clock',
  },
  whoami: { words: 'none', hasOnlyReadFlags: true },
  id: { short: 'gGnruz', long: 'group groups name real user zero', words: 'text', most: 1, hasOnlyReadFlags: true },
  uname: {
    short: 'aimnoprsv',
    long: 'all kernel-name nodename kernel-release machine operating-system',
    words: 'none',
    hasOnlyReadFlags: true,
  },
  // A word would set the name, and -f uses the network.
  hostname: { words: 'none' },
  uptime: { short: 'ps', long: 'pretty since', words: 'none', hasOnlyReadFlags: true },
  free: { short: 'bghkmtw', long: 'bytes kibi mebi gibi human si total wide', words: 'none', hasOnlyReadFlags: true },
  // `e` among the words without a dash shows the environment of processes.
  ps: {
    short: 'AefFHjlLo:p:w',
    long: 'pid: sort: forest no-headers',
    words: 'text',
    check: ({ words, flags }) => {
      const odd =
        words.find(({ text }) => !/^[aflujwx]+$/.test(text))?.text ??
        flags.find(({ value }) => /env/i.test(value ?? ''))?.value
      return odd === undefined ? undefined : `${odd} may show the environment of processes`
    },
  },
  sleep: {
    words: 'text',
    check: ({ words }) => words.find(({ text }) => !/^[\d.]+[smhd]?$/.test(text)) && 'only plain numbers are known',
  },
}

/** The words that only print a program's version. Without version managers, which may start another program. */
const versionWords: Readonly<Record<string, string>> = {
  ...{
    node: '--version -v',
    npm: '--version -v',
    python: '--version -V',
    python3: '--version -V',
    pip: '--version',
    pip3: '--version',
  },
  ...{
    ruby: '--version -v',
    perl: '--version -v',
    php: '--version -v',
    java: '--version -version',
    deno: '--version',
    bun: '--version',
  },
  ...{
    gcc: '--version',
    clang: '--version',
    make: '--version -v',
    cmake: '--version',
    docker: '--version -v',
    bash: '--version',
  },
  ...{
    git: '--version version',
    rg: '--version -V --help -h',
    jq: '--version',
    sed: '--version --help',
    curl: '--version',
    tsc: '--version -v',
  },
  ...Object.fromEntries('ls cat grep find sort uniq head tail wc'.split(' ').map((name) => [name, '--version --help'])),
  ...{ go: 'version', cargo: '--version -V', rustc: '--version -V' },
}

/** Whether these words only print the version. */
export function isVersionQuery(program: string, args: readonly string[]): boolean {
  if (args.length !== 1 || !Object.hasOwn(versionWords, program)) return false
  return versionWords[program]!.split(' ').includes(args[0]!)
}
