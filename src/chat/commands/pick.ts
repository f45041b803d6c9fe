import { didYouMean } from '../../core/nearest.ts'
import type { CommandScreen } from '../command.ts'

interface Picking<Name extends string> {
  readonly title: string
  /** The names with what each means. */
  readonly choices: Readonly<Record<Name, string>>
  readonly present: Name | undefined
  readonly screen: CommandScreen
}

/** One of a few names: the argument, or what the person chooses; `undefined` if they choose nothing. */
export async function pick<Name extends string>(argument: string, picking: Picking<Name>): Promise<Name | undefined> {
  const { title, choices, present, screen } = picking
  const names = Object.keys(choices) as Name[]
  if (argument !== '') {
    const named = names.find((name) => name === argument.toLowerCase())
    if (named !== undefined) return named
    const hint = didYouMean(argument, names)
    throw new Error(`"${argument}" is none of ${names.join(', ')}${hint}`)
  }
  const at = present === undefined ? -1 : names.indexOf(present)
  const items = names.map((label) => ({ label, detail: choices[label] }))
  const index = await screen.choose({ title, items, ...(at >= 0 && { initial: at }) })
  return index === undefined ? undefined : names[index]
}
