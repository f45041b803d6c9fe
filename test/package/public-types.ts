import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readDeclarations } from './declarations.ts'
import { root } from './installed-package.ts'

/** Names with two declarations of the same thing, and why. */
const loadedLate: Readonly<Record<string, string>> = {
  basicTools: 'those of the root are loaded by the first run that has them',
  glob: 'that of the root is loaded by the first run that has it',
  grep: 'that of the root is loaded by the first run that has it',
  createSqliteStore: 'that of the root is loaded when it is used, and so has no backup() to offer before that',
}

/** Names inside one file for what a parameter must have; a caller passes a value of a public type. */
const spelledOut: Readonly<Record<string, string>> = {
  Keyed: 'a tool, or the key and the name of one',
  Input: 'any record',
  Broken: 'the context of the hook cache:break',
  Variables: 'such as process.env',
  Followed: 'log and hooks of an agent',
  Agent: 'the part of an agent that every layer knows; what createAgent gives fits',
}

/**
 * The types that a program needs to call what a subpath offers come from that subpath; a name means one thing. The type of
 * one field is reached through the type that has it, such as `ServerOptions['agentFor']`.
 */
export function publicTypes(targets: readonly { readonly specifier: string; readonly types: string }[]): void {
  describe('the public names', () => {
    const declarations = () => readDeclarations(join(root, 'dist'))
    const entryOf = (types: string): string => types.replace('./dist/', '')

    test('E14 a name means the same in every subpath that exports it', () => {
      const { namesOf } = declarations()
      const meanings = new Map<string, Map<string, string[]>>()
      for (const { specifier, types } of targets)
        for (const { name, id } of namesOf(entryOf(types))) {
          const ids = meanings.get(name) ?? new Map<string, string[]>()
          meanings.set(name, ids.set(id, [...(ids.get(id) ?? []), specifier]))
        }
      expect(meanings.size).toBeGreaterThan(300)
      const several = [...meanings].filter(([name, ids]) => ids.size > 1 && !Object.hasOwn(loadedLate, name))
      expect(several.map(([name, ids]) => `${name}: ${[...ids.values()].join(' and ')}`)).toEqual([])
    })

    test.each(targets)('E14 $specifier exports the types that its functions take and give', ({ types }) => {
      const { namesOf, mentionedBy } = declarations()
      const names = namesOf(entryOf(types))
      const exported = new Set(names.map(({ id }) => id))
      const missing = new Set<string>()
      for (const { name, id, isCallable } of names) {
        if (!isCallable) continue
        for (const other of mentionedBy(id))
          if (!exported.has(other) && !Object.hasOwn(spelledOut, nameOf(other)))
            missing.add(`${name}: ${nameOf(other)}`)
      }
      expect([...missing]).toEqual([])
    })
  })
}

const nameOf = (id: string): string => id.slice(id.indexOf('#') + 1)
