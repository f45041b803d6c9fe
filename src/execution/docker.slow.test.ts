import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Docker from 'dockerode'
import { afterAll, describe, expect, it } from 'vitest'
import { startFakeDocker } from '../../test/oracles/fake-docker.ts'
import { sampleOf, testInTurns } from '../../test/soak.ts'
import { executionContract } from '../testing/index.ts'
import { createDockerContext, type DockerContextOptions } from './docker.ts'

// Each of them starts processes.
const test = testInTurns(3)

const scratch = mkdtempSync(join(tmpdir(), 'libero-docker-test-'))
const onLinux = process.platform === 'linux'
const engine = onLinux
  ? await startFakeDocker({ registry: { 'registry.test:5000/tool:1': undefined, broken: 'unexpected EOF' } })
  : undefined!
afterAll(async () => {
  await engine?.close()
  await rm(scratch, { recursive: true, force: true })
})

const skipped = onLinux ? '' : ' (skipped: its containers need /proc)'

describe.skipIf(!onLinux)(`the Docker context over an engine that runs local processes${skipped}`, () => {
  for (const one of sampleOf(
    executionContract(() => make()),
    15,
  ))
    it(`A226 ${one.name}`, one.run)

  test('a container is made as asked, and cannot do more than it should', async () => {
    const cwd = mkdtempSync(join(scratch, 'w-'))
    const context = make({
      cwd,
      docker: new Docker({ socketPath: engine.socketPath }),
      limits: { memory: 256, cpu: '1.5', processes: 64 },
      env: { A: 'a', B: 'b' },
      network: 'none',
      user: '1000:1000',
      binds: ['/here:/there:ro'],
    })
    const handle = await context.spawn({ cwd: 'sub', env: { B: 'own' } })
    const { description } = containerOf(handle.id)
    expect(description).toMatchObject({
      Image: 'alpine',
      WorkingDir: `${cwd}/sub`,
      Env: ['A=a', 'B=own'],
      User: '1000:1000',
      Labels: { libero: '1' },
      HostConfig: {
        Init: true,
        AutoRemove: true,
        NetworkMode: 'none',
        Binds: ['/here:/there:ro'],
        SecurityOpt: ['no-new-privileges'],
        PidsLimit: 64,
        Memory: 256 * 1024 * 1024,
        MemorySwap: 256 * 1024 * 1024,
        NanoCpus: 1_500_000_000,
      },
    })
    await context.destroy(handle)
  })

  test('a handle is a container, which goes with it, daemons and all; twice is harmless', async () => {
    const context = make()
    const handle = await context.spawn()
    const container = containerOf(handle.id)
    const work = context.exec(handle, 'setsid sleep 300 >/dev/null 2>&1 & touch begun; sleep 300')
    await expect.poll(() => context.listFiles(handle, '.')).toEqual(['begun'])
    expect(container.processes().length).toBeGreaterThan(3)
    await Promise.all([context.destroy(handle), context.destroy(handle)])
    await context.destroy(handle)
    expect(container.processes()).toEqual([])
    expect(engine.containers.has(container.id)).toBe(false)
    expect(await work).toMatchObject({ exitCode: null })
    await expect(context.exec(handle, 'true')).rejects.toThrow(`The execution handle ${handle.id} was destroyed`)
    await expect(context.readFile(handle, 'f')).rejects.toThrow('was destroyed')
  })

  test('what a command leaves running is ended and named, wherever it went; others go on', async () => {
    const context = make()
    const handle = await context.spawn()
    const other = context.exec(handle, 'sleep 1.5; echo unharmed')
    const before = containerOf(handle.id).processes().length
    const command = 'sleep 301 & (setsid sleep 302 >/dev/null 2>&1 &) ; env -i PATH="$PATH" sleep 303 & echo err >&2'
    const { leftRunning = [], ...done } = await context.exec(handle, command)
    expect(done).toEqual({ stdout: '', stderr: 'err\n', exitCode: 0 })
    expect([...leftRunning].sort()).toEqual(['sleep 301', 'sleep 302', 'sleep 303'])
    expect(containerOf(handle.id).processes().length).toBeLessThanOrEqual(before + 3)
    expect((await other).stdout).toBe('unharmed\n')
    await context.destroy(handle)
  })

  test('at the time limit everything ends, what ignores SIGTERM too', async () => {
    const context = make()
    const handle = await context.spawn()
    const container = containerOf(handle.id)
    await expect.poll(() => container.processes().length).toBe(2)
    const command = `trap '' TERM; setsid sleep 304 & echo begun; while :; do sleep 305; done`
    const done = await context.exec(handle, command, { timeout: 500 })
    expect(done).toEqual({ stdout: 'begun\n', stderr: '', exitCode: null, signal: 'SIGKILL', timedOut: true })
    expect(container.processes().length).toBe(2)
    await context.destroy(handle)
  })

  test('a container that died is reported to waiting calls and to later ones', async () => {
    const context = make()
    const handle = await context.spawn()
    const work = context.exec(handle, 'touch begun; sleep 300')
    await expect.poll(() => context.listFiles(handle, '.')).toEqual(['begun'])
    const dead = expect(work).rejects.toThrow(/is no longer running( \(exit code 137\))?; spawn another handle/)
    await containerOf(handle.id).kill()
    await dead
    await expect(context.exec(handle, 'true')).rejects.toThrow('is no longer running')
    await expect(context.readFile(handle, 'f')).rejects.toThrow('is no longer running')
    await context.destroy(handle)
  })

  test('a container that ran out of memory says that, to the command that it took along too', async () => {
    const context = make()
    const handle = await context.spawn()
    const container = containerOf(handle.id)
    Object.assign(container.description.HostConfig!, { AutoRemove: false })
    const work = context.exec(handle, 'touch begun; sleep 300')
    await expect.poll(() => context.listFiles(handle, '.')).toEqual(['begun'])
    const dead = expect(work).rejects.toThrow('is no longer running (it ran out of memory); spawn another handle')
    await container.kill({ outOfMemory: true })
    await dead
    await expect(context.exec(handle, 'true')).rejects.toThrow('is no longer running (it ran out of memory)')
    await context.destroy(handle)
    expect(engine.containers.has(container.id)).toBe(false)
  })

  test('a command that ends the shell watching over it did not end by itself', async () => {
    const context = make()
    const handle = await context.spawn()
    const done = await context.exec(handle, 'echo said; kill -9 $PPID; sleep 0.1')
    expect(done).toEqual({ stdout: 'said\n', stderr: '', exitCode: null })
    expect((await context.exec(handle, 'kill -9 $$')).exitCode).toBe(137)
    await context.destroy(handle)
  })

  test('a command that the engine cannot start is an error in its words', async () => {
    const context = make()
    const handle = await context.spawn()
    const work = context.exec(handle, 'true', { env: { PATH: '/nowhere' } })
    await expect(work).rejects.toThrow(`The container ${handle.id} could not run the command: OCI runtime exec failed`)
    await expect(context.exec(handle, 'true', { cwd: 'none' })).rejects.toMatchObject({
      code: 'ENOENT',
      message: expect.stringContaining(`${handle.cwd}/none does not exist in the container`),
    })
    await context.destroy(handle)
  })

  test('a missing image is pulled, once for all handles', async () => {
    const context = make({ image: 'registry.test:5000/tool:1' })
    const asked = engine.requests.length
    const handles = await Promise.all([context.spawn(), context.spawn()])
    expect(engine.requests.slice(asked).filter((line) => line === 'POST /images/create')).toHaveLength(1)
    for (const handle of handles) await context.destroy(handle)
  })

  test('an image that cannot be had says why', async () => {
    await expect(make({ image: 'nobody/nothing' }).spawn()).rejects.toThrow(
      'Docker could not pull the image nobody/nothing: pull access denied for nobody/nothing, repository does not exist',
    )
    await expect(make({ image: 'broken' }).spawn()).rejects.toThrow('could not pull the image broken: unexpected EOF')
    await expect(make({ image: 'broken', pull: 'never' }).spawn()).rejects.toThrow('Pull it: docker pull broken')
  })

  test('what the engine refuses is told in its words, and nothing stays behind', async () => {
    const small = make({ limits: { memory: 1 } })
    await expect(small.spawn()).rejects.toThrow(
      'Docker could not start a container from alpine: Minimum memory limit allowed is 6MB',
    )
    const before = engine.containers.size
    const message = 'failed to create task for container: exec: "sh": executable file not found in $PATH'
    await withFault(/start$/, { status: 400, message }, async () => {
      await expect(make().spawn()).rejects.toThrow('tools need an image with a shell')
    })
    await withFault(/start$/, { status: 500, message: 'no room' }, async () => {
      await expect(make().spawn()).rejects.toThrow('Docker could not start a container from alpine: no room')
    })
    const empty = make({ env: { PATH: '/nowhere' } })
    await expect(empty.spawn()).rejects.toThrow(
      'A container from alpine does not stay up; tools need an image with a shell',
    )
    expect(engine.containers.size).toBe(before)
  })

  test('a container that is being removed already counts as removed, one that cannot be does not', async () => {
    const context = make()
    const handle = await context.spawn()
    const remove = new RegExp(`^DELETE /containers/${handle.id}`)
    await withFault(remove, { status: 500, message: 'device busy' }, async () => {
      await expect(context.destroy(handle)).rejects.toThrow(`could not remove the container ${handle.id}: device busy`)
    })
    const message = `removal of container ${handle.id} is already in progress`
    await withFault(remove, { status: 409, message }, () => context.destroy(handle))
    await containerOf(handle.id).kill()
  })

  test('an engine that stops answering does not block callers', async () => {
    const context = make()
    const handle = await context.spawn()
    await withFault(/\/exec$/, 'hang', async () => {
      const done = await context.exec(handle, 'true', { timeout: 50 })
      expect(done).toMatchObject({
        exitCode: null,
        timedOut: true,
        stderr: expect.stringContaining('may still be running'),
      })
    })
    await context.destroy(handle)
  })

  test('files of different containers have different keys', async () => {
    const context = make()
    const [one, other] = [await context.spawn(), await context.spawn()]
    await context.writeFile(one, 'f', '')
    const keys = [await context.stat!(one, 'f'), await context.stat!(other, 'f')].map(({ key }) => key)
    expect(keys).toEqual([`docker:${one.id}:${one.cwd}/f`, `docker:${other.id}:${one.cwd}/f`])
    for (const handle of [one, other]) await context.destroy(handle)
  })
})

const image = process.env.LIBERO_TEST_IMAGE ?? 'alpine'
const missing = await whyNoRealEngine()

describe.skipIf(missing !== undefined)(`the Docker context over the engine of this machine${missing ?? ''}`, () => {
  for (const one of executionContract(() => createDockerContext({ image, pull: 'never' }))) it(one.name, one.run)
})

function make(options: Partial<DockerContextOptions> = {}) {
  const cwd = mkdtempSync(join(scratch, 'w-'))
  return createDockerContext({ image: 'alpine', cwd, docker: { socketPath: engine.socketPath }, ...options })
}

function containerOf(id: string) {
  return [...engine.containers.values()].find((container) => container.id.startsWith(id))!
}

async function withFault(where: RegExp, what: { status: number; message: string } | 'hang', use: () => Promise<void>) {
  engine.faults.set(where, what)
  await use().finally(() => engine.faults.delete(where))
}

async function whyNoRealEngine(): Promise<string | undefined> {
  const docker = new Docker()
  try {
    await docker.ping()
    await docker.getImage(image).inspect()
    return undefined
  } catch (error) {
    return ` (skipped: ${error instanceof Error ? error.message : error}; it needs Docker and the image ${image}, see LIBERO_TEST_IMAGE)`
  }
}
