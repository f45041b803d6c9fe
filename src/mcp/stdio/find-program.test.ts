import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporary } from '../../../test/temporary.ts'
import { findProgram, windowsLaunch } from './find-program.ts'

test('a name is looked up on PATH, and the first executable wins', async () => {
  const at = await world()
  const path = [join(at, 'none'), join(at, 'a'), join(at, 'b')].join(':')
  expect(await findProgram('tool', { cwd: at, path })).toBe(join(at, 'b/tool'))
})

test('a relative path starts at the working folder', async () => {
  const at = await world()
  expect(await findProgram('./b/tool', { cwd: at, path: '' })).toBe(join(at, 'b/tool'))
  expect(await findProgram(join(at, 'b/tool'), { cwd: '/', path: '' })).toBe(join(at, 'b/tool'))
})

test('a relative folder in PATH is not searched: a project could plant a program there', async () => {
  const at = await world()
  await expect(findProgram('tool', { cwd: join(at, 'b'), path: '.::b' })).rejects.toThrow(
    'there is no program "tool" on PATH; install it, or give its full path as command',
  )
})

test('a missing or non-executable program causes an error with a remedy', async () => {
  const at = await world()
  await expect(findProgram('x/tool', { cwd: at, path: '' })).rejects.toThrow(
    `there is no program "x/tool"; check the path (it begins at ${at})`,
  )
  await expect(findProgram('tool', { cwd: at, path: join(at, 'a') })).rejects.toThrow(
    `${at}/a/tool is no program that may be run; make it executable (chmod +x), or give another one`,
  )
  await expect(findProgram('./a', { cwd: at, path: '' })).rejects.toThrow('/a is no program that may be run')
  await expect(findProgram('a\x1b[2J', { cwd: at, path: '' })).rejects.toThrow('"a␛[2J"')
})

test('extensions are tried in order, before the bare name', async () => {
  const at = await world()
  for (const name of ['run', 'run.cmd', 'run.js']) await writeFile(join(at, 'b', name), '', { mode: 0o755 })
  const options = { cwd: at, path: join(at, 'b'), endings: ['.exe', '.cmd'] }
  expect(await findProgram('run', options)).toBe(join(at, 'b/run.cmd'))
  expect(await findProgram('run.cmd', options)).toBe(join(at, 'b/run.cmd'))
  expect(await findProgram('run.js', options)).toBe(join(at, 'b/run.js'))
})

/** The tool is not executable in `a`, but in `b`. */
async function world(): Promise<string> {
  const at = await temporary('find-')
  for (const folder of ['a', 'b']) {
    await mkdir(join(at, folder))
    await writeFile(join(at, folder, 'tool'), '#!/bin/sh\n')
  }
  await chmod(join(at, 'b/tool'), 0o755)
  return at
}

const node = 'C:\\node\\node.exe'
const nasty = ['"&calc&"', '%PATH%', '^|']

test('MC-20 npx and npm are run by our own Node, so that no shell interprets an argument', () => {
  expect(windowsLaunch('C:\\Program Files\\nodejs\\npx.cmd', ['-y', ...nasty], node)).toEqual({
    file: node,
    args: ['C:\\Program Files\\nodejs\\node_modules\\npm\\bin\\npx-cli.js', '-y', ...nasty],
  })
  expect(windowsLaunch('C:\\nodejs\\NPM.BAT', [], node).args).toEqual([
    'C:\\nodejs\\node_modules\\npm\\bin\\npm-cli.js',
  ])
  expect(windowsLaunch('C:\\nodejs\\npx', [], node).file).toBe(node)
})

test('MC-20 any other batch file or script is refused, with an alternative', () => {
  for (const path of ['C:\\x\\server.cmd', 'C:\\x\\server.BAT', 'C:\\x\\server.ps1', 'C:\\x\\server', 'C:\\x\\npx.ps1'])
    expect(() => windowsLaunch(path, nasty, node)).toThrow(
      `${path} is a script that needs a shell, and a shell could take its arguments for commands; give the program that it runs as command`,
    )
})

test('a program is started directly, a script of Node by our own Node', () => {
  expect(windowsLaunch('C:\\x\\server.EXE', nasty, node)).toEqual({ file: 'C:\\x\\server.EXE', args: nasty })
  expect(windowsLaunch('C:\\x\\server.mjs', nasty, node)).toEqual({ file: node, args: ['C:\\x\\server.mjs', ...nasty] })
})
