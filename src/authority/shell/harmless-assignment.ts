/** Whether `NAME=value` in front of a command, or alone, changes nothing but language, time zone or colour. */
export function isHarmlessAssignment(name: string, value: string): boolean {
  return harmless.get(name)?.test(value) ?? false
}

/** In the characters of some languages a backslash or a quote is half of another one: only those where it is not. */
const language = /^(?:C|POSIX|(?:C|[a-z]{2,3}_[A-Z]{2})\.(?:UTF-8|utf8))$/

const harmless: ReadonlyMap<string, RegExp> = new Map([
  ['LC_ALL', language],
  ['LANG', language],
  // A path or a colon would name a file.
  ['TZ', /^(?:[A-Z]{3,4}|[A-Z][a-z]+\/[A-Z]\w+)$/],
  ['NO_COLOR', /^\w*$/],
  ['FORCE_COLOR', /^\w*$/],
  ['CI', /^\w*$/],
])
