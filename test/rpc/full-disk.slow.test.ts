import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { compileCache } from '../compile-cache.ts'
import { liberoArgs, scratch } from './rpc-kit.ts'

const wires = {
  'libero rpc': ['rpc', '--provider', 'offline'],
  'libero run --events': ['run', '--events', '--provider', 'offline'],
  'libero --json': ['--json', '--provider', 'offline', 'list the files here'],
}

test.skipIf(!existsSync('/dev/full')).for(Object.entries(wires))(
  'FC-06 %s says why its lines could not be written, unless the reader closed the pipe',
  async ([, args]) => {
    const folder = scratch()
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [...liberoArgs, ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', HOME: folder, LIBERO_HOME: `${folder}/home`, ...compileCache },
      stdio: ['pipe', full, 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    closeSync(full)
    let stderr = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.stdin!.on('error', () => {})
    if (args[0] === 'rpc') child.stdin!.write('{"type":"ping"}\n') // the others write first; stdin stays open
    expect(await new Promise((done) => child.on('close', done))).toBe(1)
    expect(stderr).toMatch(
      /^(?:libero: no sandbox: .*\n)?libero: the output could not be written \(ENOSPC\): free some space/,
    )
  },
)
