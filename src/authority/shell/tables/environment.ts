import type { ReadCommand } from '../reading.ts'

/** Assignments that change how something is shown, and no more, with the values that do only that. */
const harmless = /^(LC_[A-Z]+|LANG|LANGUAGE|NO_COLOR|FORCE_COLOR|CI|COLUMNS|NODE_ENV)$/
const wrappers = /^(env|nice|timeout|stdbuf|time|command|!)$/

/** Why a command does not mean what its words say: an assignment, or what it is wrapped in. */
export function environmentProblem({ env, via }: ReadCommand): string | undefined {
  for (const [name, value] of Object.entries(env)) {
    const isHarmless =
      (harmless.test(name) && /^[\w.@:-]*$/.test(value)) || (name === 'TZ' && /^\w[\w+/-]*$/.test(value))
    if (!isHarmless) return `${name}=… can change what a command does`
  }
  const wrapper = via.find((name) => !wrappers.test(name.split(' ')[0]!))
  return wrapper && `${wrapper} changes how or with what rights a command runs`
}
