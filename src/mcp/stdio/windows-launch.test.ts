import { expect, test } from 'vitest'
import { windowsLaunch } from './windows-launch.ts'

const node = 'C:\\node\\node.exe'
const nasty = ['"&calc&"', '%PATH%', '^|']

test('MC-20 npx and npm are run by our own Node, so nothing of an argument is read by a shell', () => {
  expect(windowsLaunch('C:\\Program Files\\nodejs\\npx.cmd', ['-y', ...nasty], node)).toEqual({
    file: node,
    args: ['C:\\Program Files\\nodejs\\node_modules\\npm\\bin\\npx-cli.js', '-y', ...nasty],
  })
  expect(windowsLaunch('C:\\nodejs\\NPM.BAT', [], node).args).toEqual([
    'C:\\nodejs\\node_modules\\npm\\bin\\npm-cli.js',
  ])
  expect(windowsLaunch('C:\\nodejs\\npx', [], node).file).toBe(node)
})

test('MC-20 any other batch file or script is refused, with what to do instead', () => {
  for (const path of ['C:\\x\\server.cmd', 'C:\\x\\server.BAT', 'C:\\x\\server.ps1', 'C:\\x\\server', 'C:\\x\\npx.ps1'])
    expect(() => windowsLaunch(path, nasty, node)).toThrow(
      `${path} is a script that needs a shell, and a shell could take its arguments for commands; give the program that it runs as command`,
    )
})

test('a program is started as it is, a script of Node by our own Node', () => {
  expect(windowsLaunch('C:\\x\\server.EXE', nasty, node)).toEqual({ file: 'C:\\x\\server.EXE', args: nasty })
  expect(windowsLaunch('C:\\x\\server.mjs', nasty, node)).toEqual({ file: node, args: ['C:\\x\\server.mjs', ...nasty] })
})
