import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { cliDocs, cliDocsPath } from '../../scripts/cli-docs.ts'
import type { Command } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { configKeys } from '../../src/cli/config/settings.ts'
import { helpOf } from '../../src/cli/help.ts'

test('docs/cli.md is up to date (else: npx node --conditions=libero-source scripts/cli-docs.ts)', async () => {
  expect(readFileSync(cliDocsPath, 'utf8')).toBe(await cliDocs())
})

test('docs/cli.md names every command, flag, setting and exit code', async () => {
  const page = await cliDocs()
  for (const { command, path } of await everyCommand()) {
    expect(page).toMatch(new RegExp(`^#+ ${path}$`, 'm'))
    for (const flag of Object.keys(command.flags ?? {})) expect(page).toContain(`--${flag}`)
  }
  for (const key of configKeys) expect(page).toContain(`| \`${key}\` |`)
  for (const code of [0, 1, 2, 3, 4, 130]) expect(page).toContain(`| ${code} |`)
})

test.each(commands.map((listed) => [listed.name, listed] as const))(
  'the list of commands says of %s what it says of itself',
  async (name, { summary, load }) => {
    const command = await load()
    expect({ name: command.name, summary: command.summary }).toEqual({ name, summary })
  },
)

test('every command can be called or has subcommands, and describes each flag', async () => {
  for (const { command, path } of await everyCommand()) {
    expect(command.run !== undefined || (command.commands ?? []).length > 0, path).toBe(true)
    expect(command.summary, path).toMatch(/^[A-Z].*[^.]$/)
    for (const [name, { says, short }] of Object.entries(command.flags ?? {})) {
      expect(says, `${path} --${name}`).toMatch(/^\S.*[^.]$/s)
      if (short !== undefined) expect(short, `${path} --${name}`).toMatch(/^[a-zA-Z]$/)
    }
    const shorts = Object.values(command.flags ?? {}).flatMap(({ short }) => short ?? [])
    expect(new Set(shorts).size, path).toBe(shorts.length)
    const standard = command.defaultCommand
    if (standard !== undefined)
      expect(
        command.commands?.map(({ name }) => name),
        path,
      ).toContain(standard)
    expect(helpOf(command, path)).toContain('usage:')
  }
})

test('every command or one of its subcommands has an example', async () => {
  const shown = (command: Command): boolean =>
    (command.examples?.length ?? 0) > 0 || (command.commands ?? []).some(shown)
  const all = await Promise.all(commands.map((listed) => listed.load()))
  expect(all.filter((command) => !shown(command)).map(({ name }) => name)).toEqual([])
})

async function everyCommand(): Promise<readonly { readonly command: Command; readonly path: string }[]> {
  const all = await Promise.all(commands.map((listed) => listed.load()))
  const below = (command: Command, path: string): { command: Command; path: string }[] => [
    { command, path },
    ...(command.commands ?? []).flatMap((one) => below(one, `${path} ${one.name}`)),
  ]
  return all.flatMap((command) => below(command, `libero ${command.name}`))
}
