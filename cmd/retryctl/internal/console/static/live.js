// Replaces the parts of a page that have changed in the store. The pages work
// without this script.
"use strict";
(() => {
	const main = document.getElementById("main");
	const state = document.getElementById("live");
	const html = window.trustedTypes
		? trustedTypes.createPolicy("console", { createHTML: (text) => text }) // of the server, which has escaped it
		: { createHTML: (text) => text };

	// busy reports whether somebody uses a part of the page, so that it must not change.
	const busy = (part) =>
		part.querySelector("details[open]") !== null ||
		(part.contains(document.activeElement) && document.activeElement.matches("input:not([type=checkbox]), select, textarea"));

	// replace replaces a part, with the same boxes checked and the same link focused.
	const replace = (part, next) => {
		const checked = new Set([...part.querySelectorAll("input[type=checkbox]:checked")].map((box) => box.value));
		const focused = part.contains(document.activeElement) ? document.activeElement : null;
		part.replaceWith(next);
		for (const box of next.querySelectorAll("input[type=checkbox]")) {
			box.checked = checked.has(box.value);
		}
		if (focused !== null) {
			const same = [...next.querySelectorAll(focused.localName)].find(
				(e) => e.getAttribute("href") === focused.getAttribute("href") && e.value === focused.value);
			same?.focus({ preventScroll: true });
		}
	};

	const update = (text) => {
		const next = new DOMParser().parseFromString(html.createHTML(text), "text/html");
		const parts = [...next.querySelectorAll("[data-live]")];
		const here = [...main.querySelectorAll("[data-live]")];
		if (parts.map((p) => p.id).join() !== here.map((p) => p.id).join()) {
			if (!here.some(busy) && main.querySelector("details[open]") === null) {
				const notice = main.querySelector(":scope > .notice");
				main.replaceChildren(...(notice ? [notice] : []), ...next.body.childNodes);
				prepare();
			}
			return;
		}
		for (const part of parts) {
			const old = document.getElementById(part.id);
			if (!old.isEqualNode(part) && !busy(old)) {
				replace(old, document.adoptNode(part));
			}
		}
		prepare();
	};

	// prepare shows what needs the script: the box that checks all rows.
	const prepare = () => {
		const all = document.getElementById("all");
		if (all !== null) {
			all.hidden = false;
		}
	};
	main.addEventListener("change", (event) => {
		if (event.target.id === "all") {
			for (const box of main.querySelectorAll("input[name=letter]")) {
				box.checked = event.target.checked;
			}
		}
	});

	const show = (text, tone) => {
		state.hidden = false;
		state.textContent = text;
		state.className = "live " + tone;
	};

	let version = main.dataset.version; // of what is shown
	let events = null;
	const connect = () => {
		const url = new URL("/live" + location.pathname + location.search, location.href);
		url.searchParams.delete("done");
		url.searchParams.set("live", version);
		events = new EventSource(url);
		events.onopen = () => show("live", "on");
		events.onerror = () => show(events.readyState === EventSource.CLOSED ? "not live" : "reconnecting", "off");
		events.addEventListener("problem", (event) => show(event.data, "off"));
		events.addEventListener("content", (event) => {
			version = event.lastEventId;
			show("live", "on");
			update(event.data);
		});
	};
	// A browser has six connections to a server: tabs that nobody sees need none.
	const look = () => {
		if (!document.hidden && events === null) {
			connect();
		} else if (document.hidden && events !== null) {
			events.close();
			events = null;
			state.hidden = true;
		}
	};
	document.addEventListener("visibilitychange", look);
	look();
	prepare();
})();
