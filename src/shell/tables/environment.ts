import type { ReadCommand } from '../reading.ts'

/** Why a command may do more than its words show: an assignment or a wrapper. */
export function environmentProblem({ env, via }: Pick<ReadCommand, 'env' | 'via'>): string | undefined {
  const assignment = Object.entries(env).find(([name, value]) => !isHarmlessAssignment(name, value))
  if (assignment) return `${assignment[0]}=… can change what a command does`
  const wrapper = via.find((name) => !harmlessWrappers.test(name.split(' ')[0]!))
  return wrapper && `${wrapper} changes how or with what rights a command runs`
}

/** Removable wrappers that do not affect the command. Not `nohup` and `setsid`, which let it outlive the call. */
const harmlessWrappers = /^(env|nice|timeout|stdbuf|time|command)$/

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
