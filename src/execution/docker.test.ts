import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { trackedCommand, trailerOf } from './commands/tracked-command.ts'
import { dockerProblem } from './docker/client.ts'
import { demultiplexer } from './docker/run.ts'
import { createDockerContext } from './docker.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('A227 neither the root nor the tools nor the Docker context itself load the client of Docker', async () => {
  const printed = await run(`
    import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
    for (const entry of ['libero', 'libero/tools', 'libero/presets', './src/execution/docker.ts']) await import(entry)
    const { createDockerContext } = await import('./src/execution/docker.ts')
    createDockerContext({ image: 'alpine' })
    console.log(JSON.stringify({ urls, client: import.meta.resolve('dockerode') }))
  `)
  const { urls, client } = JSON.parse(printed) as { urls: string[]; client: string }
  const isClient = (url: string) => /node_modules\/(dockerode|docker-modem|ssh2)\//.test(url)
  expect(isClient(client)).toBe(true)
  expect(urls.some((url) => url.endsWith('/execution/docker.ts'))).toBe(true)
  expect(urls.filter(isClient)).toEqual([])
})

test('without dockerode the first handle says how to install it', async () => {
  const said = await run(`
    import { registerHooks } from 'node:module'
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier === 'dockerode') throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
        return next(specifier, context)
      },
    })
    const { createDockerContext } = await import('./src/execution/docker.ts')
    console.log(await createDockerContext({ image: 'alpine' }).spawn().catch((error) => error.message))
  `)
  expect(said.trim()).toBe('A Docker context needs the package dockerode. Install it: npm install dockerode')
})

test('an engine that does not answer is named, with what to do', async () => {
  const socketPath = join(tmpdir(), 'libero-there-is-no-docker.sock')
  const context = createDockerContext({ image: 'alpine', docker: { socketPath } })
  await expect(context.spawn()).rejects.toThrow(`Docker does not answer at ${socketPath} (ENOENT). Start Docker`)
  const denied = Object.assign(new Error('connect EACCES'), { code: 'EACCES', address: '/run/docker.sock' })
  expect(dockerProblem('Docker could not do it', denied).message).toBe(
    'Docker could not do it: Docker does not answer at /run/docker.sock (EACCES). This user may not use it: ' +
      'add it to the group of the socket (often `docker`), or use rootless Docker',
  )
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', address: '127.0.0.1', port: 2375 })
  expect(dockerProblem('x', refused).message).toContain('at 127.0.0.1:2375 (ECONNREFUSED)')
})

test('options that cannot be are refused at once', () => {
  const make = (options: object) => () => createDockerContext({ image: 'alpine', ...options })
  expect(make({ image: '' })).toThrow('needs an image')
  expect(make({ cwd: 'work' })).toThrow('cwd must be absolute inside the container, not "work"')
  expect(make({ limits: { memory: 0 } })).toThrow('limits.memory must be a number above 0, not 0')
  expect(make({ limits: { cpu: 'two' } })).toThrow('limits.cpu must be a number above 0, not "two"')
  expect(make({ limits: { processes: -1 } })).toThrow('limits.processes')
  expect(make({ network: 'none' })().capabilities.network).toBe(false)
  expect(make({})().capabilities).toEqual({ shell: true, filesystem: true, network: true, gpu: false })
})

describe('the stream of a container', () => {
  const frame = (stream: number, text: string) => {
    const header = Buffer.alloc(8)
    header[0] = stream
    header.writeUInt32BE(Buffer.byteLength(text), 4)
    return Buffer.concat([header, Buffer.from(text)])
  }
  const wire = Buffer.concat([frame(1, 'one '), frame(2, 'err'), frame(1, ''), frame(1, 'two'), frame(2, '!')])

  test('is taken apart wherever it is cut', () => {
    for (let at = 0; at <= wire.length; at++) {
      const heard = { stdout: '', stderr: '' }
      const take = demultiplexer(
        (bytes) => (heard.stdout += bytes),
        (bytes) => (heard.stderr += bytes),
      )
      for (const part of [wire.subarray(0, at), wire.subarray(at)]) take(part)
      expect(heard).toEqual({ stdout: 'one two', stderr: 'err!' })
    }
  })

  test('is handed on before a frame is complete', () => {
    const heard: string[] = []
    demultiplexer(
      (bytes) => heard.push(String(bytes)),
      () => {},
    )(wire.subarray(0, 10))
    expect(heard).toEqual(['on'])
  })
})

describe('the end of stderr that is ours', () => {
  const wire = Buffer.from('err\0 and \0libero-x more\0libero-xyz\nsleep 60 \nnode server.js \n')

  test('is parted from what the command said, wherever it is cut', () => {
    for (let at = 0; at <= wire.length; at++) {
      const trailer = trailerOf('libero-xyz')
      const parts = [wire.subarray(0, at), wire.subarray(at)].map((part) => trailer.take(part))
      expect(Buffer.concat([...parts, trailer.rest()]).toString()).toBe('err\0 and \0libero-x more')
      expect(trailer.leftRunning()).toEqual(['sleep 60', 'node server.js'])
    }
  })

  test('is nothing when nothing was left running; what only looks like it is given back', () => {
    const trailer = trailerOf('libero-xyz')
    expect(trailer.take(Buffer.from('err\0libero-')).toString()).toBe('err')
    expect(trailer.rest().toString()).toBe('\0libero-')
    expect(trailer.leftRunning()).toEqual([])
    expect([trailer.hadNoFolder(), trailer.isComplete()]).toEqual([false, false])
  })
})

test('a command that cannot be passed on is refused', () => {
  expect(() => trackedCommand('m', 'a\0b', '/')).toThrow('cannot contain a NUL')
  expect(() => trackedCommand('m', 'x'.repeat(100_001), '/')).toThrow('at most 100000 are possible')
})

/** Runs a module in a process of its own, with the sources as the package; gives what it printed. */
async function run(script: string): Promise<string> {
  const args = ['--conditions=libero-source', '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  return stdout
}
