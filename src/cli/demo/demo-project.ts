import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { CliError } from '../cli-error.ts'

/** A temporary project: a small package with a failing test. */
export interface DemoProject {
  /** The parent folder of the project, for files that are not part of it. */
  readonly folder: string
  readonly root: string
  /** The changed files with their former and present content. */
  changes(): { readonly path: string; readonly before: string; readonly after: string }[]
  /** Synchronous and repeatable, because it may run while the process ends. */
  remove(): void
}

/** Creates the project in the folder for temporary files. */
export function createDemoProject(parent: string = tmpdir()): DemoProject {
  let folder: string | undefined
  try {
    folder = realpathSync(mkdtempSync(join(parent, 'libero-demo-')))
    const root = join(folder, 'shop')
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    const made = folder
    return {
      folder: made,
      root,
      changes: () =>
        Object.entries(files).flatMap(([path, before]) => {
          const after = readFileSync(join(root, path), 'utf8')
          return after === before ? [] : [{ path, before, after }]
        }),
      remove: () => rmSync(made, { recursive: true, force: true, maxRetries: 3 }),
    }
  } catch (error) {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    throw new CliError(
      `The demo cannot make its project in ${parent}: ${messageOf(error)}; set TMPDIR to a folder that can be written`,
      undefined,
      { cause: error },
    )
  }
}

const files: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify({ name: 'shop', private: true, type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  'src/cart.js': `export function total(items) {
  return items.reduce((sum, { price, count }) => sum + price * count, 0)
}

export function discounted(items, percent) {
  const whole = total(items)
  const rebate = (whole * percent) / 100
  return whole + rebate
}
`,
  'test/cart.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { discounted, total } from '../src/cart.js'

const items = [
  { price: 10, count: 2 },
  { price: 5, count: 4 },
]

test('adds up what is in the cart', () => {
  assert.equal(total(items), 40)
})

test('takes a discount off', () => {
  assert.equal(discounted(items, 25), 30)
})
`,
}
