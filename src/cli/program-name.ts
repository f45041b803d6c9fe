import type { Io } from './io.ts'

/** How this very program was started, for those who are told what to type next: installed it is a program, in its repository npm starts it. */
export function programName({ env }: Pick<Io, 'env'>, own: string = import.meta.url): string {
  if (env.npm_lifecycle_event === 'start' && !own.includes('/node_modules/')) return 'npm start --'
  return env.npm_command === 'exec' ? 'npx libero' : 'libero'
}
