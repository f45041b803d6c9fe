import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { write } from '../../test/confinement-kit.ts'
import { temporary } from '../../test/temporary.ts'

const uses: Readonly<Record<string, readonly [file: string, use: string, planted: readonly string[]]>> = {
  'the clipboard for text': [
    '../tui/terminal/copy-text.ts',
    "copyText('x', { output: { write() {} }, env: { DISPLAY: ':0', WAYLAND_DISPLAY: 'w' }, platform: 'linux' })",
    ['xclip', 'xsel', 'wl-copy'],
  ],
  'the clipboard for images': [
    '../tui/input/clipboard-image.ts',
    "clipboardImage({ platform: 'linux', env: {} })",
    ['xclip', 'wl-paste'],
  ],
  'the editor': [
    '../tui/input/external-editor.ts',
    "editExternally('x', { env: { ...process.env, EDITOR: 'own-editor' } })",
    ['own-editor'],
  ],
  'the keeper': [
    './process-keeper.ts',
    "registerWithKeeper().add(1_000_000_000); await new Promise((done) => setTimeout(done, 300)); process.kill(process.pid, 'SIGKILL')",
    ['grep', 'sleep', 'rmdir'],
  ],
}

test.skipIf(process.platform !== 'linux').each(Object.entries(uses))(
  'S03 no program of the project is found through PATH for %s',
  async (_, [file, use, planted]) => {
    const project = await temporary('project-')
    const cwd = join(project, 'packages/app')
    for (const folder of ['.git', 'packages/app']) mkdirSync(join(project, folder), { recursive: true })
    const bin = join(project, 'node_modules/.bin')
    mkdirSync(bin, { recursive: true })
    for (const name of planted) {
      write(bin, { [name]: `#!/bin/sh\necho ${name} >> '${project}/ran'\n` })
      chmodSync(join(bin, name), 0o755)
    }
    const [name] = use.split('(')
    const script = `const { ${name} } = await import(${JSON.stringify(new URL(file, import.meta.url))})\nawait ${use}`
    // Nothing else is there: a real one would write to the clipboard.
    const env = { ...process.env, PATH: [bin, join(project, '../nothing')].join(delimiter) }
    spawnSync(process.execPath, ['--conditions=libero-source', '--input-type=module', '-e', script], {
      cwd,
      env,
    })
    if (planted.includes('grep')) await new Promise((done) => setTimeout(done, 1500))
    expect(existsSync(join(project, 'ran'))).toBe(false)
  },
)
