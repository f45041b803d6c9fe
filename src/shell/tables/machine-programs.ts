import { alwaysReads, type Program, reads } from './program.ts'

/** Programs that print facts about the machine, the time or the user. */
export const machinePrograms: Readonly<Record<string, Program>> = {
  // -s sets the clock, and so does a word that is no format.
  date: reads({
    short: 'd:I?Rur<',
    long: 'date: iso-8601? rfc-3339: rfc-email utc universal reference<',
    words: 'text',
    most: 1,
    check: ({ words }) =>
      words.find(({ text }) => !text.startsWith('+')) && 'a word that does not begin with + sets the clock',
  }),
  whoami: alwaysReads('', '', { words: 'none' }),
  id: alwaysReads('gGnruz', 'group groups name real user zero', { words: 'text', most: 1 }),
  uname: alwaysReads('aimnoprsv', 'all kernel-name nodename kernel-release machine operating-system', {
    words: 'none',
  }),
  // A word would set the name, and -f uses the network.
  hostname: reads({ words: 'none' }),
  uptime: alwaysReads('ps', 'pretty since', { words: 'none' }),
  free: alwaysReads('bghkmtw', 'bytes kibi mebi gibi human si total wide', { words: 'none' }),
  // `e` among the words without a dash shows the environment of processes.
  ps: reads({
    short: 'AefFHjlLo:p:w',
    long: 'pid: sort: forest no-headers',
    words: 'text',
    check: ({ words, flags }) => {
      const odd =
        words.find(({ text }) => !/^[aflujwx]+$/.test(text))?.text ??
        flags.find(({ value }) => /env/i.test(value ?? ''))?.value
      return odd === undefined ? undefined : `${odd} may show the environment of processes`
    },
  }),
  sleep: reads({
    words: 'text',
    check: ({ words }) => words.find(({ text }) => !/^[\d.]+[smhd]?$/.test(text)) && 'only plain numbers are known',
  }),
}
