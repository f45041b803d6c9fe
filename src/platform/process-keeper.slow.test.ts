import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { temporary } from '../../test/temporary.ts'

test.skipIf(process.platform === 'win32')(
  'the keeper removes the folders of what is still registered when its process is killed, and no others',
  async () => {
    const folder = await temporary('keeper-')
    const [ended, kept] = [join(folder, 'ended'), join(folder, 'kept')]
    for (const path of [ended, kept]) mkdirSync(path)
    const script = `
      const { registerWithKeeper } = await import(${JSON.stringify(new URL('process-keeper.ts', import.meta.url))})
      const [one, other] = [registerWithKeeper(), registerWithKeeper()]
      one.addFolder(${JSON.stringify(ended)}, 'alone')
      other.addFolder(${JSON.stringify(kept)}, 'alone')
      one.end()
      setTimeout(() => {}, 60_000)
      console.log('ready')`
    const options = ['--conditions=libero-source', '--input-type=module', '-e', script]
    const child = spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await vi.waitFor(() => expect(existsSync(kept)).toBe(false), 15_000)
    expect(existsSync(ended)).toBe(true)
  },
)
