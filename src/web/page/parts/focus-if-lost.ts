/** What had the focus is gone: it goes to what stands for it, so that the keyboard goes on from there. */
export function focusIfLost(element: HTMLElement | null | undefined): void {
  if (document.activeElement === document.body) element?.focus({ preventScroll: true })
}
