import { show } from '../core/behavior.ts'
import type { Clock } from '../core/clock.ts'
import { didYouMean } from '../core/nearest.ts'

/** The check of an option, and the words for what it must be. The value of a secret option is never shown. */
export type OptionRule = readonly [isRight: (value: unknown) => boolean, wanted: string, secret?: 'secret']

export type OptionRules<Options> = Readonly<Record<keyof Options, OptionRule>>

/** Throws if an option does not exist or has a wrong value. */
export function checkOptions<Options>(where: string, options: Options, rules: OptionRules<Options>): void {
  // The value is not shown: it is most likely a key.
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`${where} takes its options as an object, got ${kindOf(options)}`)
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name))
      throw new TypeError(`${where} has no option "${name}"${didYouMean(name, Object.keys(rules))}`)
    const [isRight, wanted, secret] = rules[name as keyof Options]
    if (value === undefined || isRight(value)) continue
    const got = secret ? `something else (${kindOf(value)})` : show(value)
    throw new TypeError(`${where} option "${name}" must be ${wanted}, got ${got}`)
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}

export const isFunction = (value: unknown): boolean => typeof value === 'function'

/** The rule for options called `clock`. */
export const clockRule: OptionRule = [
  (value) => isFunction((value as Clock | null)?.now) && isFunction((value as Clock).timer),
  'a clock with now() and timer()',
]
