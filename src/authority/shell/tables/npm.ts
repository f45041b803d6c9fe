import { type ReadArguments, readFlags, type Word } from './flags.ts'

/** npm with plain words: `npm test`, which runs the project's script, and `npm ls`. */
export function readNpm(given: readonly Word[]): ReadArguments | string {
  const [verb, ...rest] = given
  const name = verb?.text ?? ''
  if (/^(test|t|tst)$/.test(name)) return readFlags({ short: 's', long: 'silent', words: 'none' }, rest)
  if (/^(ls|list|ll)$/.test(name))
    return readFlags({ short: 'gl', long: 'all json long depth: parseable global', words: 'text' }, rest)
  return `npm ${name} is not known to be harmless`
}

/** Whether there is a table for this npm command, whatever its flags. */
export function isNpmVerb(verb: string): boolean {
  return /^(test|t|tst|ls|list|ll)$/.test(verb)
}
