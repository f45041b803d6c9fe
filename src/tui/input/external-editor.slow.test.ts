import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporary } from '../../../test/temporary.ts'
import { editExternally } from './external-editor.ts'

/** An editor that runs this script with `$1` its flag and `$2` the file. */
async function editor(script: string): Promise<{ EDITOR: string; PATH: string | undefined; folder: string }> {
  const folder = await temporary('editor-')
  const path = join(folder, 'my editor')
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { EDITOR: `'${path}' --flag`, PATH: process.env.PATH, folder }
}

test('UI16 the text is edited in the editor of the person, in a file that others cannot read', async () => {
  const env = await editor(
    '[ "$1" = --flag ] && stat -c %a "$2" "$(dirname "$2")" > "$(dirname "$0")/modes"; echo "$2" > "$(dirname "$0")/path"; printf "more\\n" >> "$2"',
  )
  const seen: string[] = []
  const suspend = async <T>(run: () => Promise<T>): Promise<T> => {
    seen.push('away')
    return run().finally(() => seen.push('back'))
  }
  expect(await editExternally('one\ntwo ', { env, suspend })).toBe('one\ntwo more')
  expect(readFileSync(join(env.folder, 'modes'), 'utf8')).toBe('600\n700\n')
  expect(existsSync(readFileSync(join(env.folder, 'path'), 'utf8').trim())).toBe(false)
  expect(seen).toEqual(['away', 'back'])
})

test('a text that was not changed, but for a newline at its end, is no edit', async () => {
  expect(await editExternally('same', { env: await editor('printf "\\n" >> "$2"') })).toBeUndefined()
})

test('errors say what to set, and VISUAL comes before EDITOR', async () => {
  const failing = await editor('exit 3')
  const cases: [object, string][] = [
    [{}, 'set VISUAL or EDITOR'],
    [{ EDITOR: ' ' }, 'set VISUAL or EDITOR'],
    [{ EDITOR: 'no-such-editor-here' }, 'There is no editor no-such-editor-here'],
    [{ EDITOR: 'true', VISUAL: failing.EDITOR }, 'ended with 3; the text is as it was'],
    [{ EDITOR: 'code -n' }, "set EDITOR='code -n --wait'"],
  ]
  for (const [env, words] of cases)
    await expect(editExternally('x', { env: { PATH: process.env.PATH, ...env } })).rejects.toThrow(words)
})
