import type { Io } from '../io.ts'

/** What to try next, in the way this very program was started. */
export function nextCommands(io: Pick<Io, 'env'>, own: string = import.meta.url): { line: string; says: string }[] {
  const libero = howToCall(io.env, own)
  return [
    { line: `${libero} "list the files here"`, says: 'a task of your own, in this folder' },
    { line: `${libero} sessions`, says: 'what was done, and how to go on with it' },
    { line: `${libero} doctor`, says: 'what works on this machine' },
  ]
}

/** Installed it is a program; in its repository it is started by npm. */
function howToCall(env: Io['env'], own: string): string {
  if (!own.includes('/node_modules/')) return 'npm start --'
  return env.npm_command === 'exec' ? 'npx libero' : 'libero'
}
