import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { emptyFolder, place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { watchUnwanted } from './unwanted-files.ts'

const asides = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes('.replaced-'))

describe.skipIf(process.platform !== 'linux')('what is made where nothing may be', () => {
  function watched(...names: string[]) {
    const root = emptyFolder()
    const paths = names.map((name) => join(root, name))
    const files = watchUnwanted({ roots: [root], paths, isKept: (path) => path.endsWith('kept') })
    onTestFinished(() => files.end())
    return { root, files }
  }

  test('is moved aside at once, also in a folder that is new, and other files stay', async () => {
    const { root, files } = watched('mise.toml', '.bundle/config', 'kept')
    mkdirSync(join(root, '.bundle'))
    for (const name of ['mise.toml', '.bundle/config', 'kept', 'other']) writeFileSync(join(root, name), name)
    await vi.waitFor(() => expect(files.moved.size).toBe(2), 5000)
    for (const [path, aside] of files.moved) {
      expect(existsSync(path)).toBe(false)
      expect(path.endsWith(readFileSync(aside, 'utf8'))).toBe(true)
    }
    expect(readdirSync(root)).toEqual(expect.arrayContaining(['kept', 'other']))
  })

  test('leaves one file aside however often it is made, and a folder is moved too', async () => {
    const { root } = watched('mise.toml', '.flox')
    for (let n = 0; n < 5; n++) {
      writeFileSync(join(root, 'mise.toml'), String(n))
      await vi.waitFor(() => expect(existsSync(join(root, 'mise.toml'))).toBe(false), 5000)
    }
    expect(asides(root)).toHaveLength(1)
    mkdirSync(join(root, '.flox'))
    writeFileSync(join(root, '.flox/env.json'), '{}')
    await vi.waitFor(() => expect(asides(root)).toHaveLength(2), 5000)
  })

  test('is not looked for behind a link', async () => {
    const { root, files } = watched('.bundle/config')
    const outside = emptyFolder()
    writeFileSync(join(outside, 'config'), 'of the person')
    symlinkSync(outside, join(root, '.bundle'))
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(files.moved.size).toBe(0)
    expect(readdirSync(outside)).toEqual(['config'])
  })

  test('is moved aside by the keeper if the process is killed, but not behind a link', async () => {
    const root = emptyFolder()
    const outside = emptyFolder()
    writeFileSync(join(outside, 'config'), 'of the person')
    symlinkSync(outside, join(root, '.bundle'))
    const paths = ['mise.toml', '.bundle/config', 'missing'].map((name) => join(root, name))
    const script = `
      const { registerWithKeeper } = await import(${JSON.stringify(new URL('../../platform/process-keeper.ts', import.meta.url))})
      const keeper = registerWithKeeper()
      keeper.addUnwanted(${JSON.stringify(paths)})
      const over = registerWithKeeper()
      over.addUnwanted([${JSON.stringify(join(root, 'later'))}])
      over.end()
      setTimeout(() => {}, 60_000)
      console.log('ready')`
    const options = ['--conditions=libero-source', '--input-type=module', '-e', script]
    const child = spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    for (const name of ['mise.toml', 'later']) writeFileSync(join(root, name), name)
    child.kill('SIGKILL')
    await vi.waitFor(() => expect(asides(root)).toHaveLength(1), 15_000)
    expect(existsSync(join(root, 'mise.toml'))).toBe(false)
    expect(existsSync(join(root, 'later'))).toBe(true)
    expect(readdirSync(outside)).toEqual(['config'])
  })
})

test.skipIf(unavailable)(
  `a command that leaves settings of tools takes no effect while it runs${skipped}`,
  async () => {
    const { cwd, run } = await place()
    const names = ['mise.toml', '.pre-commit-config.yaml', '.bundle/config']
    const make = names.map((name) => `mkdir -p $(dirname ${name}) && echo evil > ${name}`).join('; ')
    const { stdout, stderr } = await run(`${make}; sleep 1; cat ${names.join(' ')} 2>/dev/null; echo end`)
    expect(stdout).toBe('end\n')
    for (const name of names) expect(stderr).toContain(`/${name} was created and taken away again`)
    expect(names.filter((name) => existsSync(join(cwd, name)))).toEqual([])
  },
)
