"""What keeps an endpoint well: old history goes, what nobody needs is swept, keys change, and all of it is proven."""
