import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type InstalledPackage, linkPackage, root, run } from './installed-package.ts'

const mostFiles = 500
const mostTypes = 80

/** What lies in the tarball, and what a project that depends on it sees. */
export function tarball(installed: () => InstalledPackage, targets: readonly Target[]): void {
  describe('the tarball', () => {
    test('E13 has at most 500 files, and the types of all of them are in a few', () => {
      const { files } = installed()
      expect(files.length).toBeLessThanOrEqual(mostFiles)
      expect(files.filter((file) => file.endsWith('.d.ts')).length).toBeLessThanOrEqual(mostTypes)
      expect(files.filter((file) => /\.test\.|^(src|test)\//.test(file))).toEqual([])
      console.info(`the tarball has ${files.length} files`)
    })

    test('E13 has every page and file that its README and its docs link', async () => {
      const { files, project } = installed()
      const pages = files.filter((file) => /^(README|docs\/.+)\.md$/.test(file))
      expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/tools.md', 'docs/sessions.md']))
      const dead: string[] = []
      for (const page of pages) {
        const text = await readFile(join(project, 'node_modules/libero', page), 'utf8')
        for (const [, link = ''] of text.matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)) {
          const path = normalize(join(dirname(page), link)).replace(/\/$/, '')
          const isThere = files.some((file) => file === path || file.startsWith(`${path}/`))
          if (!/^[a-z]+:/.test(link) && !isThere) dead.push(`${page}: ${link}`)
        }
      }
      expect(dead, 'what is only in the repository, such as docs/decisions, is named without a link').toEqual([])
    })

    test('DR09 publint finds nothing wrong with it', async () => {
      const bin = join(root, 'node_modules/publint/src/cli.js')
      const { code, output } = await run(root, process.execPath, bin, 'run', installed().tarball, '--strict')
      expect(output).toContain('All good!')
      expect(code).toBe(0)
    })

    test('DR09 its types are found from modules and by bundlers, as the program is', async () => {
      const bin = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js')
      const args = ['--profile', 'esm-only', '--no-definitely-typed', '--format', 'json']
      const { code, output } = await run(root, process.execPath, bin, installed().tarball, ...args)
      expect(output).toContain('"problems"')
      expect(code, output.slice(0, 2000)).toBe(0)
    })

    test('UI51 has the shipped commands, and finds them', async () => {
      const { files, project } = installed()
      expect(files).toEqual(expect.arrayContaining(['commands/init.md', 'commands/review.md']))
      const code = `import { loadCustomCommands } from 'libero/chat'
        const { commands, problems } = await loadCustomCommands({ taken: [] })
        console.log(...commands.map(({ name }) => name), ...problems)`
      await writeFile(join(project, 'shipped.mjs'), code)
      expect(await run(project, process.execPath, 'shipped.mjs')).toMatchObject({ code: 0, output: 'init review\n' })
    })

    test('E13 has the types of every subpath, and a strict project compiles against them', async () => {
      const { files, project } = installed()
      expect(targets.filter(({ types }) => !files.includes(types.slice(2)))).toEqual([])
      await linkPackage('@types/node', project) // for those whose options take parts of Node
      await linkPackage('zod', project) // for the example of the README
      await linkPackage('@opentelemetry/api', project) // libero/otel is for programs that have it
      const readme = await readFile(join(root, 'README.md'), 'utf8')
      const [, example = ''] = /```ts\n(.*?)```/s.exec(readme) ?? []
      expect(example).toContain("from 'libero'")
      await writeFile(join(project, 'readme.ts'), example)
      await writeFile(join(project, 'all.ts'), allOf(targets))
      await writeFile(join(project, 'package.json'), '{ "type": "module" }')
      await writeFile(
        join(project, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['readme.ts', 'all.ts'] }),
      )
      const tsc = join(root, 'node_modules/typescript/bin/tsc')
      const { code, output } = await run(project, process.execPath, tsc, '--singleThreaded')
      expect({ code, output }).toEqual({ code: 0, output: '' })
    })
  })
}

interface Target {
  readonly specifier: string
  readonly types: string
}

const compilerOptions = {
  module: 'nodenext',
  moduleResolution: 'nodenext',
  target: 'es2024',
  lib: ['es2024', 'dom'],
  types: ['node'],
  strict: true,
  skipLibCheck: false,
  noEmit: true,
}

const allOf = (targets: readonly Target[]): string =>
  [
    ...targets.map(({ specifier }, i) => `import * as m${i} from '${specifier}'\nexport { m${i} }`),
    `import { createAgent, type Agent } from 'libero'`,
    `import { scripted } from 'libero/testing'`,
    `export const agent: Agent = createAgent({ provider: scripted('hi') })`,
    '// @ts-expect-error a provider is required, unless the types were lost on the way',
    'createAgent({})',
  ].join('\n')
