import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { createAgent, createProcessContext } from '../../src/index.ts'
import { coding } from '../../src/presets/index.ts'
import { createShellReader } from '../../src/shell/shell-reader.ts'
import { call, scripted } from '../../src/testing/index.ts'
import type { ToolCallBlock } from '../../src/types.ts'
import { rounds } from '../soak.ts'
import { hostileLines } from './hostile-lines.ts'

const runs = rounds(50, 500)
const base = mkdtemp(join(tmpdir(), 'libero-plan-'))
// Keeps the thread that reads lines: a new one per run would take most of the time.
const reader = createShellReader()
afterAll(async () => {
  await reader.close()
  await rm(await base, { recursive: true, force: true })
})

const path = fc.constantFrom(
  'a.txt',
  'src/b.ts',
  'new.txt',
  'src/deep/new.ts',
  '.',
  'link',
  'link/x',
  '../out.txt',
  './a.txt',
  '.git/config',
  'src',
)
const text = fc.constantFrom('x', 'alpha', '', 'beta\n', '#!/bin/sh\ntouch z\n')
const programs = [
  'ls',
  'cat a.txt',
  'touch z',
  'rm -rf src',
  'echo x > a.txt',
  'sed -i s/a/b/ a.txt',
  'git status',
  'git init',
  'mv a.txt z',
  'tee z',
  'cp a.txt z',
  'find . -delete',
  'sort -o a.txt a.txt',
  'mkdir q',
  'node -e 1',
  'sh -c "touch z"',
  'true',
  'cd src && touch z',
  'grep alpha a.txt',
  'uniq a.txt z',
  'ln -s a.txt z',
  'chmod 777 a.txt',
  'dd if=a.txt of=z',
  'truncate -s 0 a.txt',
  'npm test',
  'make',
]
const command = fc.oneof(
  fc.constantFrom(...programs),
  fc.constantFrom(...hostileLines.filter(({ judgedOnly }) => !judgedOnly).map(({ cmd }) => cmd)),
  fc
    .tuple(
      fc.constantFrom(...programs),
      fc.constantFrom(' && ', ' | ', ' ; ', '\n', ' || ', ' & '),
      fc.constantFrom(...programs),
    )
    .map((parts) => parts.join('')),
)
const oneCall = fc.oneof(
  fc.record({ path, content: text }).map((input) => ['write_file', input] as const),
  fc.record({ path, old_string: text, new_string: text }).map((input) => ['edit', input] as const),
  fc
    .record({ path, edits: fc.array(fc.record({ old_string: text, new_string: text }), { maxLength: 2 }) })
    .map((input) => ['multi_edit', input] as const),
  fc.record({ command, background: fc.boolean() }).map((input) => ['shell', input] as const),
  fc.record({ path }).map((input) => ['read_file', input] as const),
  fc.record({ path }).map((input) => ['list_files', input] as const),
  fc.record({ pattern: fc.constantFrom('alpha', '*.ts', '(a+)+$'), path }).map((input) => ['grep', input] as const),
  fc.record({ pattern: fc.constantFrom('**/*', '../*'), path }).map((input) => ['glob', input] as const),
  fc.constant(['spawn', { task: 'change something' }] as const),
  fc.constant(['todowrite', { todos: [{ content: 'x', status: 'pending' }] }] as const),
  fc.constantFrom('shell_output', 'shell_stop').map((name) => [name, { job: 1 }] as const),
)

test(`in plan a model with every built-in tool changes nothing under the root, in ${runs} runs`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(oneCall, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
      async (turns) => {
        const root = await workspace()
        const before = await treeHash(root)
        let n = 0
        const steps: ToolCallBlock[][] = turns.map((calls) =>
          calls.map(([name, input]) => call(`c${++n}`, name, input)),
        )
        const provider = scripted(...Array.from({ length: 40 }, () => () => steps.shift() ?? 'Done.'))
        const agent = createAgent({
          provider,
          tools: coding.tools!,
          execution: createProcessContext({ cwd: root }),
          // A person who accepts everything, and rules that allow everything: plan is still read-only.
          authority: {
            mode: 'plan',
            allow: ['exec', 'fs.write', 'unknown', 'shell', 'write_file', 'edit', 'multi_edit'],
            interactors: [() => 'session'],
            workspace: { isTrusted: true },
          },
        })
        await agent.run({ prompt: 'Change things.' }).catch(() => {})
        await agent.destroy()
        expect(await treeHash(root)).toBe(before)
      },
    ),
    { numRuns: runs },
  )
}, 240_000)

async function workspace(): Promise<string> {
  const root = join(await mkdtemp(join(await base, 'run-')), 'root')
  await mkdir(join(root, 'src', 'deep'), { recursive: true })
  await writeFile(join(root, 'a.txt'), 'alpha\nbeta\n')
  await writeFile(join(root, 'src', 'b.ts'), 'export const b = 1\n')
  await writeFile(join(root, 'package.json'), '{"scripts":{"test":"touch z"}}')
  await writeFile(join(root, 'Makefile'), 'all:\n\ttouch z\n')
  await writeFile(join(root, 'helper.sh'), '#!/bin/sh\ntouch "$CANARY" z\n', { mode: 0o755 })
  await writeFile(join(root, 'f.txt'), 'hello\n')
  await symlink('src', join(root, 'link'))
  return root
}

/** Names, kinds, modes, contents and times of everything under a folder. */
async function treeHash(root: string): Promise<string> {
  const hash = createHash('sha256')
  for (const entry of (await readdir(root, { recursive: true, withFileTypes: true })).sort((a, b) =>
    join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1,
  )) {
    const path = join(entry.parentPath, entry.name)
    hash.update(`${path}\0`)
    if (entry.isSymbolicLink()) hash.update(await readlink(path))
    else {
      const { mode, mtimeMs } = await stat(path)
      hash.update(`${mode}\0${mtimeMs}\0`)
      if (entry.isFile()) hash.update(await readFile(path))
    }
  }
  return hash.digest('hex')
}
