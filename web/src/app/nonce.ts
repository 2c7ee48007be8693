import { setNonce } from "get-nonce";

/**
 * The one inline style of the page is that of an open dialog, which keeps the page behind it
 * from scrolling. It carries the nonce that the server put into the page and its policy.
 */
export function adoptNonce(): void {
  const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce;
  if (nonce) setNonce(nonce);
}
