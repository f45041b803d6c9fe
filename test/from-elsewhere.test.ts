import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { commands } from '../src/cli/commands.ts'
import { configFields } from '../src/cli/config/config-schema.ts'

const docs = fileURLToPath(new URL('../docs', import.meta.url))
const read = (page: string): string => readFileSync(join(docs, page), 'utf8')
const pages = readdirSync(docs).filter((page) => page.startsWith('from-'))

/** What the right column of the tables says: ours. */
const ours = (page: string): string =>
  [...read(page).matchAll(/^\| .*? \| (.*) \|$/gm)].map(([, cell = '']) => cell).join('\n')

test('DR12 there is a page for each of six, and the index has them', () => {
  expect(pages.sort()).toEqual(
    ['ai-sdk', 'claude-code', 'codex', 'langgraph', 'opencode', 'pi'].map((name) => `from-${name}.md`),
  )
  for (const page of pages) expect(read('README.md')).toContain(`(${page})`)
})

test.each(pages)('DR12 the commands, settings, slash commands and places that %s names are there', (page) => {
  const text = ours(page)
  expect(text.split('\n').length).toBeGreaterThan(10)
  const names = commands.map(({ name }) => name)
  for (const [, command = ''] of text.matchAll(/`libero ([a-z][a-z-]*)/g)) expect(names).toContain(command)
  for (const [, setting = ''] of text.matchAll(/`"(\w+)":/g)) expect(Object.keys(configFields)).toContain(setting)
  for (const [, slash = ''] of text.matchAll(/`(\/[a-z]+)`/g)) expect(read('terminal.md')).toContain(`\`${slash}`)
  for (const [, file = '', anchor] of read(page).matchAll(/\]\(([\w-]+\.md)(?:#([\w-]+))?\)/g)) {
    const headings = [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => anchorOf(title))
    if (anchor !== undefined) expect(headings, `${page}: ${file}#${anchor}`).toContain(anchor)
  }
})

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')
