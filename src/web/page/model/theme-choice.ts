import { Cell, type Model } from './model.ts'

export type Theme = 'system' | 'light' | 'dark'

/** The theme that the person chose for this browser. */
export interface ThemeChoice extends Model<Theme> {
  choose(theme: Theme): void
}

export function createThemeChoice(): ThemeChoice {
  const cell = new Cell<Theme>(keptTheme())
  const apply = (): void => {
    document.documentElement.dataset.theme = cell.state
  }
  apply()
  return {
    get state() {
      return cell.state
    },
    subscribe: (listener) => cell.subscribe(listener),
    choose(theme) {
      localStorage.setItem(key, theme)
      cell.set(theme)
      apply()
    },
  }
}

const key = 'libero-theme'

function keptTheme(): Theme {
  const kept = localStorage.getItem(key)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}
