import { show } from '../core/behavior.ts'
import { didYouMean } from '../core/nearest.ts'
import type { SnapshotOptions } from './file-history.ts'

/** Throws on unknown or invalid options. `of` names their place in the error. */
export function checkSnapshotOptions(of: string, options: SnapshotOptions): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name as keyof SnapshotOptions] : undefined
    if (!rule) throw new TypeError(`${of} has no option "${name}"${didYouMean(name, Object.keys(rules))}`)
    const [isValid, wanted] = rule
    if (value !== undefined && !isValid(value))
      throw new TypeError(`${of} option "${name}" must be ${wanted}, got ${show(value)}`)
  }
}

type Rule = readonly [isValid: (value: unknown) => boolean, wanted: string]

const aNumber: Rule = [(value) => Number.isSafeInteger(value) && Number(value) > 0, 'a whole number above 0']
const aPath: Rule = [(value) => typeof value === 'string' && value.startsWith('/'), 'an absolute path']

const rules: Readonly<Record<keyof SnapshotOptions, Rule>> = {
  folder: [(value) => typeof value === 'string', 'a text'],
  store: aPath,
  exclude: [(value) => Array.isArray(value) && value.every((one) => typeof one === 'string'), 'a list of patterns'],
  maxFileBytes: aNumber,
  maxFiles: aNumber,
  keep: aNumber,
  maxBytes: aNumber,
}
