/** Whether `NAME=value` only changes language, time zone or colour. */
export function isHarmlessAssignment(name: string, value: string): boolean {
  return harmless.get(name)?.test(value) ?? false
}

/** Only encodings in which no character contains the byte of a backslash or a quote. */
const language = /^(?:C|POSIX|(?:C|[a-z]{2,3}_[A-Z]{2})\.(?:UTF-8|utf8))$/

const harmless: ReadonlyMap<string, RegExp> = new Map([
  ['LC_ALL', language],
  ['LANG', language],
  // A path or a colon names a file.
  ['TZ', /^(?:[A-Z]{3,4}|[A-Z][a-z]+\/[A-Z]\w+)$/],
  ['NO_COLOR', /^\w*$/],
  ['FORCE_COLOR', /^\w*$/],
  ['CI', /^\w*$/],
])
