import { show } from '../core/behavior.ts'
import { didYouMean } from '../core/nearest.ts'
import type { SessionDetails } from '../core/store.ts'

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '' && value.length <= maxLength
const maxLength = 1000
const maxTags = 50

const checks: Readonly<Record<keyof SessionDetails, readonly [(value: unknown) => boolean, string]>> = {
  title: [isText, 'a text'],
  tags: [
    (value) => Array.isArray(value) && value.length <= maxTags && value.every(isText),
    `a list of at most ${maxTags} texts`,
  ],
  tenant: [isText, 'a text'],
  kind: [isText, 'a text'],
  folder: [isText, 'a path'],
}

const detailNames: readonly string[] = Object.keys(checks)

/** Throws if a detail has a wrong value. */
export function checkDetails(maker: string, details: SessionDetails): void {
  for (const [name, [isRight, wanted]] of Object.entries(checks)) {
    const value = details[name as keyof SessionDetails]
    if (value !== undefined && !isRight(value))
      throw new TypeError(`${maker}: ${name} must be ${wanted} of at most ${maxLength} characters, got ${show(value)}`)
  }
}

/** Throws if there is a name that no detail has. */
export function checkNames(maker: string, details: object): void {
  for (const name of Object.keys(details))
    if (!detailNames.includes(name))
      throw new TypeError(`${maker} has no detail "${name}"${didYouMean(name, detailNames)}`)
}

/** The details among other options, without those that are absent; undefined if there are none. */
export function detailsIn(options: SessionDetails): SessionDetails | undefined {
  const given = detailNames.flatMap((name) => {
    const value = options[name as keyof SessionDetails]
    return value === undefined ? [] : [[name, value] as const]
  })
  return given.length === 0 ? undefined : Object.fromEntries(given)
}
