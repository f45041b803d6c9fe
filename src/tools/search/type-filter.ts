import { fileTypes } from './file-types.ts'
import { globSource } from './glob-pattern.ts'
import { unknownType } from './problems.ts'

/** Whether a name is that of a file of a type. */
export function typeFilter(type: string | undefined): (name: string) => boolean {
  if (type === undefined) return () => true
  const globs = Object.hasOwn(fileTypes, type) ? fileTypes[type] : undefined
  if (globs === undefined) throw new Error(unknownType(type))
  const sources = globs.split(' ').map((glob) => `^${globSource(glob)}$`)
  const regex = new RegExp(sources.join('|'))
  return (name) => regex.test(name)
}
