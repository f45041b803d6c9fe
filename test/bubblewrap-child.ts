import { readdirSync } from 'node:fs'
import { createBubblewrapContext } from '../src/execution/bubblewrap.ts'

/** Uses a sandbox in a process of its own: as another user, with an open file, or to be killed. */
const [what = '', cwd = ''] = process.argv.slice(2)
const context = createBubblewrapContext({ cwd, limits: { processes: 100 } })

const uses: Record<string, () => Promise<void>> = {
  async fds() {
    const handle = await context.spawn()
    const { stdout } = await context.exec(handle, 'cd /proc/self/fd; echo *')
    console.log(stdout.trim().replace(/ 3$/, ''))
    await context.destroy(handle)
  },

  async hang() {
    await context.exec(await context.spawn(), 'touch begun; sleep 1000', { timeout: 0 })
  },

  async exit() {
    const handle = await context.spawn()
    await context.exec(handle, 'touch begun')
    console.log(readdirSync(cwd).join(' '))
    process.exit()
  },

  async network() {
    const open = createBubblewrapContext({ cwd, network: { allow: ['registry.test'] } })
    const handle = await open.spawn()
    console.log((await open.exec(handle, 'exec 3<>/dev/tcp/127.0.0.1/3128 && echo connected')).stdout)
    await open.destroy(handle)
  },

  async spawn() {
    const failure = await context.spawn().catch((error: Error) => error)
    console.log(failure instanceof Error ? failure.message : 'spawned')
  },

  async walls() {
    const handle = await context.spawn()
    const run = async (command: string) => context.exec(handle, command, { timeout: 5000 })
    await context.writeFile(handle, 'f', 'fine')
    const start = `perl -e 'for (1..300) { my $p = fork(); last unless defined $p; unless ($p) { sleep 20; exit } $n++ } print $n+0'`
    const seen = {
      id: (await run('id -u')).stdout.trim(),
      wrote: await context.readFile(handle, 'f'),
      outside: await context.writeFile(handle, '/etc/x', 'x').catch((error) => error.code),
      held: (await run('echo x > .npmrc; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit')).exitCode,
      etc: (await run('echo x > /etc/x')).exitCode,
      canary: (await run('cat /proc/*/environ | grep -c canary; true')).stdout.replace('0\n', ''),
      started: Number((await run(start)).stdout),
      again: (await run('echo ok')).stdout,
    }
    await context.destroy(handle)
    console.log(JSON.stringify(seen))
  },
}

await uses[what]?.()
