import { type Theme, type ThemeName, themes } from './theme.ts'

/** The theme that is used, and those that the person can choose. */
export interface ThemeChoice {
  readonly theme: Theme
  /** The present one first. */
  readonly names: readonly string[]
  use(name: string): void
}

/** Begins with a theme of Libero by name, or with an own one, which is called `own`. */
export function createThemeChoice(first: Theme | ThemeName = 'terminal'): ThemeChoice {
  const known: Readonly<Record<string, Theme>> = { ...(typeof first === 'object' && { own: first }), ...themes }
  let name: string = typeof first === 'object' ? 'own' : first
  return {
    get theme() {
      return known[name] ?? {}
    },
    get names() {
      return [name, ...Object.keys(known).filter((other) => other !== name)]
    },
    use(chosen) {
      name = chosen
    },
  }
}
